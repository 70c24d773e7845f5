import type { Tool } from '../../agent/tool.ts'
import { resolveReferences } from '../../configuration/references.ts'
import type { ToolConfigOf } from '../../configuration/tool-types.ts'
import { createCheck, type RefusedTool, type ToolDependencies, type ToolGroup, type ToolSpec } from '../builder.ts'
import type { Api, Operation, SkippedOperation } from './api.ts'
import { call } from './call.ts'
import { checkCredentials, type CredentialOptions } from './credentials.ts'
import { readDocument } from './read-document.ts'
import { openSource } from './open-source.ts'
import { withoutUser } from './source-address.ts'
import { createTokens } from './tokens.ts'
import { checkTokenUrls, createBases, type Bases } from './trust.ts'
import { messageOf } from '../../errors.ts'

type Config = ToolConfigOf<'openapi'>

const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The built-in type `openapi`: a tool for each operation of a document, which is looked at again from time to time (milliseconds). */
export async function createOpenApi(spec: ToolSpec, deps: ToolDependencies, everyMs?: number): Promise<ToolGroup> {
  const { spec: place, base_url, token_url, headers = {}, credentials = {}, include, exclude, effects = {} } = spec.config as Config
  const { environment, outbound, log } = deps
  const base = base_url === undefined ? undefined : withoutUser(toBase(resolveReferences(base_url, environment)))
  const ownHeaders = { ...base?.authorization, ...headers }
  const source = openSource({ spec: place, folder: deps.configDir, environment, outbound, headers: toHeadersFor })
  const bases: Bases = createBases({
    base: base?.url,
    document: source.url,
    hasSecrets: Object.keys({ ...ownHeaders, ...credentials }).length > 0,
  })
  const own: CredentialOptions = { credentials, headers: ownHeaders, environment, tokens: createTokens(outbound) }
  const options = { ...(include && { include }), ...(exclude && { exclude }), ownHeaders: Object.keys(ownHeaders) }
  let tools: readonly Tool[] = []
  let refused: readonly RefusedTool[] = []

  /** The configured headers are the API's: a document that is elsewhere is asked for without them. */
  function toHeadersFor({ origin }: URL): Record<string, string> {
    if (base !== undefined && base.url.origin !== origin) return {}
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, resolveReferences(value, environment)]))
  }

  async function load(signal?: AbortSignal): Promise<void> {
    const found = await source.read(signal)
    if (!found) return
    const api = await readDocument(found, options, signal).catch((error: unknown) => {
      throw new Error(`The OpenAPI document can not be used: ${messageOf(error)}.`, {
        cause: error,
      })
    })
    checkCredentials(api, own)
    checkTokenUrls(api, { credentials, bases, tokenUrl: token_url && resolveReferences(token_url, environment) })
    const unknown = Object.keys(effects).filter((id) => !api.operations.some((one) => one.id === id))
    if (unknown.length > 0) log.warn({ tool: spec.name, operations: unknown }, 'effects names operations that are not there')
    const { made, skipped } = toTools(api)
    if (skipped.length > 0)
      log.warn({ tool: spec.name, count: skipped.length, skipped: toLines(skipped) }, 'Operations of an OpenAPI document cannot be used')
    tools = made
    refused = skipped.map((operation) => toRefused(spec.name, operation))
    found.keep()
  }

  /** An operation whose server cannot be called leaves the others as they are; throws where none can be called. */
  function toTools(api: Api): { made: Tool[]; skipped: SkippedOperation[] } {
    const skipped = [...api.skipped]
    const made = api.operations.flatMap((operation) => {
      try {
        return [toTool(operation, api)]
      } catch (error) {
        skipped.push({ id: operation.id, place: `${operation.method} ${operation.path}`, reason: messageOf(error).replace(/\.$/, '') })
        return []
      }
    })
    if (made.length === 0) throw new Error(`${skipped[api.skipped.length]!.reason}.`)
    return { made, skipped }
  }

  function toTool(operation: Operation, { schemes }: Api): Tool {
    const { maxOutputCharacters, timeoutMs } = spec
    const { id, method, schema } = operation
    const at = { ...bases.of(operation), operation, schemes, outbound, ...own, maxCharacters: maxOutputCharacters }
    let check: Tool['check'] | undefined
    return {
      name: `${spec.name}__${id}`,
      description: spec.description === undefined ? operation.description : `${spec.description}\n${operation.description}`,
      ...{ schema, timeoutMs, maxOutputCharacters, filters: false },
      effect: (Object.hasOwn(effects, id) ? effects[id] : undefined) ?? spec.effect ?? (safe.has(method) ? 'read' : 'write'),
      // To compile a thousand of them at once would hold up everybody.
      check: (input) => (check ??= createCheck(schema))(input),
      execute: (input, context) => call(at, input, context),
    }
  }

  await load(deps.signal)
  return {
    tools: () => tools,
    refused: () => refused,
    close: keepUp(everyMs ?? source.everyMs, load, (error) =>
      log.warn({ tool: spec.name, reason: messageOf(error) }, 'An OpenAPI document could not be read again; the tools stay as they are'),
    ),
  }
}

/** Looks again from time to time, one look at a time; returns what ends it. */
function keepUp(everyMs: number, load: (signal: AbortSignal) => Promise<void>, onFailure: (error: unknown) => void) {
  const closing = new AbortController()
  let looking = Promise.resolve()
  let timer = setTimeout(look, everyMs).unref()

  function look(): void {
    looking = load(closing.signal)
      .catch((error: unknown) => (closing.signal.aborted ? undefined : onFailure(error)))
      .then(() => {
        if (!closing.signal.aborted) timer = setTimeout(look, everyMs).unref()
      })
  }

  return async () => {
    closing.abort()
    clearTimeout(timer)
    await looking
  }
}

const maxLoggedOperations = 20

function toLines(skipped: readonly SkippedOperation[]): string[] {
  return skipped.slice(0, maxLoggedOperations).map(({ place, reason }) => `${place}: ${reason}`)
}

/** Listed with its reason, so that nobody takes the tools for all that the document has. */
function toRefused(entry: string, { id, place, reason }: SkippedOperation): RefusedTool {
  return {
    name: `${entry}__${id}`,
    description: `(${place})`,
    schema: { type: 'object' },
    reason: `The operation cannot be used: ${reason}.`,
  }
}

function toBase(address: string): URL {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) throw new Error('base_url is no http or https address.')
  return new URL(address)
}

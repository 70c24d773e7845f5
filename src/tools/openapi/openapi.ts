import type { Tool } from '../../agent/tool.ts'
import { resolveReferences } from '../../configuration/references.ts'
import type { ToolConfigOf } from '../../configuration/tool-types.ts'
import { messageOf } from '../../errors.ts'
import { createCheck, type RefusedTool, type ToolDependencies, type ToolGroup, type ToolSpec } from '../builder.ts'
import type { Api, Operation, SkippedOperation } from './api.ts'
import { call } from './call.ts'
import { checkCredentials, createTokens, type CredentialOptions } from './credentials.ts'
import { readDocument } from './read-document.ts'
import { openAddress, withoutUser } from './source-address.ts'
import { openFile, type Source, type SourceOptions } from './source.ts'
import { checkTokenUrls, createBases, type Bases } from './trust.ts'

type OpenApiConfig = ToolConfigOf<'openapi'>

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The built-in type `openapi`: one tool per operation of a document. The document is checked for changes every `everyMs` milliseconds. */
export async function createOpenApi(spec: ToolSpec, deps: ToolDependencies, everyMs?: number): Promise<ToolGroup> {
  const {
    spec: specLocation,
    base_url,
    token_url,
    headers = {},
    credentials = {},
    include,
    exclude,
    effects = {},
  } = spec.config as OpenApiConfig
  const { environment, outbound, log } = deps
  const base = base_url === undefined ? undefined : withoutUser(toBase(resolveReferences(base_url, environment)))
  const ownHeaders = { ...base?.authorization, ...headers }
  const source = openSource({ spec: specLocation, folder: deps.configDir, environment, outbound, headers: toHeadersFor })
  const bases: Bases = createBases({
    base: base?.url,
    document: source.url,
    hasSecrets: Object.keys({ ...ownHeaders, ...credentials }).length > 0,
  })
  const credentialOptions: CredentialOptions = { credentials, headers: ownHeaders, environment, tokens: createTokens(outbound) }
  const options = { ...(include && { include }), ...(exclude && { exclude }), ownHeaders: Object.keys(ownHeaders) }
  let tools: readonly Tool[] = []
  let refused: readonly RefusedTool[] = []

  /** Headers for fetching the document: the configured headers belong to the API, and are not sent to a document on another origin. */
  function toHeadersFor({ origin }: URL): Record<string, string> {
    if (base !== undefined && base.url.origin !== origin) return {}
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, resolveReferences(value, environment)]))
  }

  async function load(signal?: AbortSignal): Promise<void> {
    const document = await source.read(signal)
    if (!document) return
    const api = await readDocument(document, options, signal).catch((error: unknown) => {
      throw new Error(`The OpenAPI document cannot be used: ${messageOf(error)}.`, {
        cause: error,
      })
    })
    checkCredentials(api, credentialOptions)
    checkTokenUrls(api, { credentials, bases, tokenUrl: token_url && resolveReferences(token_url, environment) })
    const unknown = Object.keys(effects).filter((id) => !api.operations.some((operation) => operation.id === id))
    if (unknown.length > 0) log.warn({ tool: spec.name, operations: unknown }, 'effects names operations that do not exist')
    const { built, skipped } = toTools(api)
    if (skipped.length > 0)
      log.warn({ tool: spec.name, count: skipped.length, skipped: toLines(skipped) }, 'Operations of an OpenAPI document cannot be used')
    tools = built
    refused = skipped.map((operation) => toRefused(spec.name, operation))
    document.keep()
  }

  /** Builds the tools. An operation with an unusable server is skipped; throws when no operation can be called. */
  function toTools(api: Api): { built: Tool[]; skipped: SkippedOperation[] } {
    const skipped = [...api.skipped]
    const built = api.operations.flatMap((operation) => {
      try {
        return [toTool(operation, api)]
      } catch (error) {
        skipped.push({ id: operation.id, location: `${operation.method} ${operation.path}`, reason: messageOf(error).replace(/\.$/, '') })
        return []
      }
    })
    if (built.length === 0) throw new Error(`${skipped[api.skipped.length]!.reason}.`)
    return { built, skipped }
  }

  function toTool(operation: Operation, { schemes }: Api): Tool {
    const { maxOutputCharacters, timeoutMs } = spec
    const { id, method, schema } = operation
    const callOptions = {
      ...bases.baseOf(operation),
      operation,
      schemes,
      outbound,
      ...credentialOptions,
      maxCharacters: maxOutputCharacters,
    }
    let check: Tool['check'] | undefined
    return {
      name: `${spec.name}__${id}`,
      description: spec.description === undefined ? operation.description : `${spec.description}\n${operation.description}`,
      schema,
      timeoutMs,
      maxOutputCharacters,
      filters: false,
      effect: (Object.hasOwn(effects, id) ? effects[id] : undefined) ?? spec.effect ?? (safeMethods.has(method) ? 'read' : 'write'),
      // Compiled at the first use: compiling a thousand schemas at once would block the event loop.
      check: (input) => (check ??= createCheck(schema))(input),
      execute: (input, context) => call(callOptions, input, context),
    }
  }

  await load(deps.signal)
  return {
    tools: () => tools,
    refused: () => refused,
    close: watch(everyMs ?? source.everyMs, load, (error) =>
      log.warn({ tool: spec.name, reason: messageOf(error) }, 'An OpenAPI document could not be read again; the tools stay as they are'),
    ),
  }
}

/** Runs `load` every `everyMs` milliseconds, one run at a time. Returns a function that stops and waits for a running load. */
function watch(everyMs: number, load: (signal: AbortSignal) => Promise<void>, onFailure: (error: unknown) => void) {
  const closing = new AbortController()
  let checking = Promise.resolve()
  let timer = setTimeout(check, everyMs).unref()

  function check(): void {
    checking = load(closing.signal)
      .catch((error: unknown) => (closing.signal.aborted ? undefined : onFailure(error)))
      .then(() => {
        if (!closing.signal.aborted) timer = setTimeout(check, everyMs).unref()
      })
  }

  return async () => {
    closing.abort()
    clearTimeout(timer)
    await checking
  }
}

const maxLoggedOperations = 20

function toLines(skipped: readonly SkippedOperation[]): string[] {
  return skipped.slice(0, maxLoggedOperations).map(({ location, reason }) => `${location}: ${reason}`)
}

/** A skipped operation is listed with a reason, so that the missing tool is visible. */
function toRefused(entry: string, { id, location, reason }: SkippedOperation): RefusedTool {
  return {
    name: `${entry}__${id}`,
    description: `(${location})`,
    schema: { type: 'object' },
    reason: `The operation cannot be used: ${reason}.`,
  }
}

function toBase(address: string): URL {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) throw new Error('base_url must be an http or https address.')
  return new URL(address)
}

function openSource({ spec, folder, environment, outbound, headers }: SourceOptions): Source {
  const resolved = /^https?:\/\/|^\$\{/.test(spec) ? resolveReferences(spec, environment) : spec
  if (/^https?:\/\//i.test(resolved)) return openAddress(resolved, outbound, headers)
  return openFile(resolved, folder)
}

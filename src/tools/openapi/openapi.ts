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
  const entry = new OpenApiEntry(spec, deps)
  await entry.load(deps.signal)
  return {
    tools: () => entry.tools,
    refused: () => entry.refused,
    close: watch(everyMs ?? entry.everyMs, entry.load, (error) =>
      deps.log.warn(
        { tool: spec.name, reason: messageOf(error) },
        'An OpenAPI document could not be read again; the tools stay as they are',
      ),
    ),
  }
}

/** The tools of an entry, from the document that was read last. */
class OpenApiEntry {
  tools: readonly Tool[] = []
  refused: readonly RefusedTool[] = []
  readonly everyMs: number
  private readonly spec: ToolSpec
  private readonly config: OpenApiConfig
  private readonly deps: ToolDependencies
  private readonly source: Source
  private readonly bases: Bases
  private readonly credentials: CredentialOptions

  constructor(spec: ToolSpec, deps: ToolDependencies) {
    this.spec = spec
    this.deps = deps
    this.config = spec.config as OpenApiConfig
    const { spec: location, base_url, headers = {}, credentials = {} } = this.config
    const { environment, outbound, configDir: folder } = deps
    const base = base_url === undefined ? undefined : withoutUser(toBase(resolveReferences(base_url, environment)))
    const ownHeaders = { ...base?.authorization, ...headers }
    /** Headers for fetching the document: the configured headers belong to the API, and are not sent to a document on another origin. */
    const headersFor = ({ origin }: URL): Record<string, string> => {
      if (base !== undefined && base.url.origin !== origin) return {}
      return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, resolveReferences(value, environment)]))
    }
    this.source = openSource({ spec: location, folder, environment, outbound, headers: headersFor })
    this.everyMs = this.source.everyMs
    const hasSecrets = Object.keys({ ...ownHeaders, ...credentials }).length > 0
    this.bases = createBases({ base: base?.url, document: this.source.url, hasSecrets })
    this.credentials = { credentials, headers: ownHeaders, environment, tokens: createTokens(outbound) }
  }

  /** Reads the document, if it has changed, and replaces the tools. */
  readonly load = async (signal?: AbortSignal): Promise<void> => {
    const { name } = this.spec
    const { log, environment } = this.deps
    const { include, exclude, effects = {}, token_url } = this.config
    const { credentials, headers } = this.credentials
    const document = await this.source.read(signal)
    if (!document) return
    const options = { ...(include && { include }), ...(exclude && { exclude }), ownHeaders: Object.keys(headers) }
    const api = await readDocument(document, options, signal).catch((error: unknown) => {
      throw new Error(`The OpenAPI document cannot be used: ${messageOf(error)}.`, { cause: error })
    })
    checkCredentials(api, this.credentials)
    checkTokenUrls(api, { credentials, bases: this.bases, tokenUrl: token_url && resolveReferences(token_url, environment) })
    const unknown = Object.keys(effects).filter((id) => !api.operations.some((operation) => operation.id === id))
    if (unknown.length > 0) log.warn({ tool: name, operations: unknown }, 'effects names operations that do not exist')
    const { built, skipped } = this.toTools(api)
    if (skipped.length > 0)
      log.warn({ tool: name, count: skipped.length, skipped: toLines(skipped) }, 'Operations of an OpenAPI document cannot be used')
    this.tools = built
    this.refused = skipped.map((operation) => toRefused(name, operation))
    document.keep()
  }

  /** Builds the tools. An operation with an unusable server is skipped; throws when no operation can be called. */
  private toTools(api: Api): { built: Tool[]; skipped: SkippedOperation[] } {
    const skipped = [...api.skipped]
    const built = api.operations.flatMap((operation) => {
      try {
        return [this.toTool(operation, api)]
      } catch (error) {
        skipped.push({ id: operation.id, location: `${operation.method} ${operation.path}`, reason: messageOf(error).replace(/\.$/, '') })
        return []
      }
    })
    if (built.length === 0) throw new Error(`${skipped[api.skipped.length]!.reason}.`)
    return { built, skipped }
  }

  private toTool(operation: Operation, { schemes }: Api): Tool {
    const { name, description, effect, marks, maxOutputCharacters, timeoutMs } = this.spec
    const { effects = {} } = this.config
    const { id, method, schema } = operation
    const callOptions = {
      ...this.bases.baseOf(operation),
      operation,
      schemes,
      outbound: this.deps.outbound,
      ...this.credentials,
      maxCharacters: maxOutputCharacters,
    }
    // A document at an address may change at any time, so its texts are not accepted by a person.
    const isDescribed = this.source.url !== undefined && marks?.trust === 'untrusted'
    let check: Tool['check'] | undefined
    return {
      name: `${name}__${id}`,
      description: description === undefined ? operation.description : `${description}\n${operation.description}`,
      schema,
      timeoutMs,
      maxOutputCharacters,
      filters: false,
      ...(marks && { marks: isDescribed ? { ...marks, describedBy: name } : marks }),
      effect: (Object.hasOwn(effects, id) ? effects[id] : undefined) ?? effect ?? (safeMethods.has(method) ? 'read' : 'write'),
      // Compiled at the first use: compiling a thousand schemas at once would block the event loop.
      check: (input) => (check ??= createCheck(schema))(input),
      execute: (input, context) => call(callOptions, input, context),
    }
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

import type { JsonObject } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { resolveReferences, type Environment } from '../../configuration/references.ts'
import type { ToolConfigOf } from '../../configuration/tool-types.ts'
import { createTool, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { maxBodyBytes, toResponseOutput } from './body-output.ts'
import { fetchAddress, FetchRefused } from './fetch-address.ts'
import { maySendSecrets, parseHost, type HostPattern } from './hosts.ts'
import { headerFault, isFieldName, isFieldValue, toContextHeaders, toTraceHeaders } from './request-headers.ts'
import { createMask, isSecretHeader } from './secrets.ts'
import { messageOf } from '../../errors.ts'

type HttpRequestConfig = ToolConfigOf<'http_request'>
type Headers = Record<string, string>

/** Characters that a request may carry: as many as fit into a call that a model writes, many times over. */
const maxBodyCharacters = 4_000_000

const allMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const safe: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** The built-in type `http_request`: one request to a host that the model names. */
export function createHttpRequest(spec: ToolSpec, deps: ToolDependencies): ToolBuild {
  const { allowed_hosts, context_hosts = [], methods = [...allMethods], headers = {} } = spec.config as HttpRequestConfig
  const allowedHosts = allowed_hosts?.map(parseHost)
  const contextHosts = context_hosts.map(parseHost)
  const secrets = toSecrets(headers)

  async function execute(input: JsonObject, context: ToolContext) {
    const request = toRequest(input, context)
    const used: string[] = []
    const headersFor = (url: URL) => {
      const own = resolveFor(url, secrets, deps.environment, (secret) => used.push(secret))
      const isTold = contextHosts.some((pattern) => maySendSecrets(pattern, url))
      return { ...(isTold && { ...toTraceHeaders(context), ...toContextHeaders(context.headers) }), ...own }
    }
    const { signal } = context
    const answer = await fetchAddress(deps.outbound, { ...request, allowedHosts, headersFor, maxBytes: maxBodyBytes, signal })
    context.log(`${request.method} ${new URL(answer.url).host}: ${answer.status}`)
    const mask = createMask(used)
    const moved: JsonObject = answer.url === withoutHash(request.url) ? {} : { url: mask(answer.url) }
    return { ...moved, ...(await toResponseOutput(answer, { context, maxCharacters: spec.maxOutputCharacters, mask })) }
  }

  const tool = createTool(spec, {
    description: 'Makes one HTTP request and tells the answer.',
    schema: toSchema(methods),
    effect: methods.every((method) => safe.has(method)) ? 'read' : 'write',
    filters: false,
    execute,
  })
  return { tool }
}

function toSchema(methods: readonly string[]) {
  const properties = {
    method: { type: 'string', enum: [...methods] },
    url: { type: 'string', minLength: 1, maxLength: 8192, description: 'An http or https address, its query included.' },
    headers: { type: 'object', maxProperties: 100, additionalProperties: { type: 'string', maxLength: 16_384 } },
    body: { type: 'string', maxLength: maxBodyCharacters, description: 'Text, or JSON as text. Not with GET and HEAD.' },
  }
  const isSafe = methods.every((method) => safe.has(method))
  const { body: _, ...withoutBody } = properties
  return { type: 'object', properties: isSafe ? withoutBody : properties, required: ['method', 'url'], additionalProperties: false }
}

/** What the model asked for, checked. Throws with a sentence for it. */
function toRequest(input: JsonObject, { callId }: ToolContext): { method: string; url: string; headers: Headers; body?: string } {
  const { method, url, headers: given = {}, body } = input as { method: string; url: string; headers?: Headers; body?: string }
  for (const [name, value] of Object.entries(given)) {
    const fault = headerFault(name, value)
    if (fault !== undefined) throw new Error(fault)
  }
  if (safe.has(method) && body !== undefined) throw new Error(`${method} takes no body.`)
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]))
  if (!safe.has(method)) headers['idempotency-key'] ??= callId
  if (body !== undefined) headers['content-type'] ??= isJson(body) ? 'application/json' : 'text/plain;charset=utf-8'
  return { method, url, headers, ...(body !== undefined && { body }) }
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

interface HostSecrets {
  host: string
  pattern: HostPattern
  headers: Headers
}

/** Exact hosts behind patterns: what is said of one host wins. Throws with the header that is none. */
function toSecrets(byHost: Readonly<Record<string, Headers>>): HostSecrets[] {
  const all = Object.entries(byHost).map(([host, headers]) => ({ host, pattern: parseHost(host), headers }))
  for (const { host, headers } of all) {
    const wrong = Object.keys(headers).find((name) => !isFieldName(name))
    if (wrong !== undefined) throw new Error(`headers of ${host}: ${JSON.stringify(wrong)} is not the name of a header.`)
  }
  return all.sort((one, other) => Number(other.pattern.isSuffix) - Number(one.pattern.isSuffix))
}

function resolveFor(url: URL, secrets: readonly HostSecrets[], environment: Environment, onSecret: (value: string) => void): Headers {
  const own: Headers = {}
  for (const { host, pattern, headers } of secrets) {
    if (!maySendSecrets(pattern, url)) continue
    for (const [name, value] of Object.entries(headers)) {
      const resolved = toFieldValue(value, environment, `The header ${name} that is configured for ${host} can not be sent`)
      own[name.toLowerCase()] = resolved
      if (isSecretHeader(name, value)) onSecret(resolved)
    }
  }
  return own
}

function toFieldValue(value: string, environment: Environment, otherwise: string): string {
  let resolved
  try {
    resolved = resolveReferences(value, environment)
  } catch (error) {
    throw new FetchRefused(`${otherwise}: ${messageOf(error)}.`, { cause: error })
  }
  if (!isFieldValue(resolved)) throw new FetchRefused(`${otherwise}: its value holds characters that no header may have.`)
  return resolved
}

function withoutHash(address: string): string {
  const url = new URL(address)
  url.hash = ''
  return url.href
}

import type { JsonObject } from '../../agent/messages.ts'
import type { Destination, ToolContext } from '../../agent/tool.ts'
import { resolveReferences, type Environment } from '../../configuration/references.ts'
import type { ToolConfigOf } from '../../configuration/tool-types.ts'
import { createTool, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { maxBodyBytes, toResponseOutput } from './body-output.ts'
import { fetchAddress, FetchRefused, maySendSecrets, parseHost, type HostPattern } from './fetch-address.ts'
import { headerFault, isFieldName, isFieldValue, toContextHeaders, toTraceHeaders, createMask, isSecretHeader } from './request-headers.ts'
import { messageOf } from '../../errors.ts'
import { parseJson } from '../../json/shape.ts'

type HttpRequestConfig = ToolConfigOf<'http_request'>
type Headers = Record<string, string>

/** Maximum characters of a request body, far above the size of a call that a model can write. */
const maxBodyCharacters = 4_000_000

const allMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const safe: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** The built-in type `http_request`: sends one HTTP request to a host named by the model. */
export function createHttpRequest(spec: ToolSpec, deps: ToolDependencies): ToolBuild {
  const { allowed_hosts, context_hosts = [], methods = [...allMethods], headers = {} } = spec.config as HttpRequestConfig
  const allowedHosts = allowed_hosts?.map(parseHost)
  const contextHosts = context_hosts.map(parseHost)
  const secrets = toSecrets(headers)

  async function execute(input: JsonObject, context: ToolContext) {
    const request = toRequest(input, context)
    const usedSecrets: string[] = []
    const headersFor = (url: URL) => {
      const hostHeaders = resolveFor(url, secrets, deps.environment, (secret) => usedSecrets.push(secret))
      const hasContext = contextHosts.some((pattern) => maySendSecrets(pattern, url))
      return { ...(hasContext && { ...toTraceHeaders(context), ...toContextHeaders(context.headers) }), ...hostHeaders }
    }
    const { signal } = context
    const response = await fetchAddress(deps.outbound, {
      ...request,
      allowedHosts,
      headersFor,
      maxBytes: maxBodyBytes,
      signal,
      assertReachable: context.assertReachable,
    })
    context.log(`${request.method} ${new URL(response.url).host}: ${response.status}`)
    const mask = createMask(usedSecrets)
    const redirected: JsonObject = response.url === withoutHash(request.url) ? {} : { url: mask(response.url) }
    return { ...redirected, ...(await toResponseOutput(response, { context, maxCharacters: spec.maxOutputCharacters, mask })) }
  }

  const tool = createTool(spec, {
    description: 'Makes one HTTP request and returns the response.',
    schema: toSchema(methods),
    effect: methods.every((method) => safe.has(method)) ? 'read' : 'write',
    destinationOf: (input) => toDestination(input, spec),
    execute,
  })
  return { tool }
}

function toSchema(methods: readonly string[]) {
  const properties = {
    method: { type: 'string', enum: [...methods] },
    url: { type: 'string', minLength: 1, maxLength: 8192, description: 'An http or https address, including the query.' },
    headers: { type: 'object', maxProperties: 100, additionalProperties: { type: 'string', maxLength: 16_384 } },
    body: { type: 'string', maxLength: maxBodyCharacters, description: 'Text, or JSON as text. Not with GET and HEAD.' },
  }
  const isSafe = methods.every((method) => safe.has(method))
  const { body: _, ...withoutBody } = properties
  return { type: 'object', properties: isSafe ? withoutBody : properties, required: ['method', 'url'], additionalProperties: false }
}

/** Validates the input of the model. Throws a sentence for the model. */
function toRequest(input: JsonObject, { callId }: ToolContext): { method: string; url: string; headers: Headers; body?: string } {
  const { method, url, headers: inputHeaders = {}, body } = input as { method: string; url: string; headers?: Headers; body?: string }
  for (const [name, value] of Object.entries(inputHeaders)) {
    const fault = headerFault(name, value)
    if (fault !== undefined) throw new Error(fault)
  }
  if (safe.has(method) && body !== undefined) throw new Error(`${method} takes no body.`)
  const headers = Object.fromEntries(Object.entries(inputHeaders).map(([name, value]) => [name.toLowerCase(), value]))
  if (!safe.has(method)) headers['idempotency-key'] ??= callId
  if (body !== undefined) headers['content-type'] ??= typeof parseJson(body) === 'object' ? 'application/json' : 'text/plain;charset=utf-8'
  return { method, url, headers, ...(body !== undefined && { body }) }
}

/** An entry with the effect `write` has said so of its GET requests too. */
function toDestination({ method, url, headers, body }: JsonObject, { effect }: ToolSpec): Destination {
  return { url: String(url), isSafe: effect !== 'write' && safe.has(String(method)), isBare: headers === undefined && body === undefined }
}

interface HostSecrets {
  host: string
  pattern: HostPattern
  headers: Headers
}

/** Configured headers by host, exact hosts last, because later headers win in `resolveFor`. Throws when a header name is invalid. */
function toSecrets(byHost: Readonly<Record<string, Headers>>): HostSecrets[] {
  const all = Object.entries(byHost).map(([host, headers]) => ({ host, pattern: parseHost(host), headers }))
  for (const { host, headers } of all) {
    const invalidName = Object.keys(headers).find((name) => !isFieldName(name))
    if (invalidName !== undefined) throw new Error(`headers of ${host}: ${JSON.stringify(invalidName)} is not the name of a header.`)
  }
  return all.sort((first, second) => Number(second.pattern.isSuffix) - Number(first.pattern.isSuffix))
}

function resolveFor(url: URL, secrets: readonly HostSecrets[], environment: Environment, onSecret: (value: string) => void): Headers {
  const hostHeaders: Headers = {}
  for (const { host, pattern, headers } of secrets) {
    if (!maySendSecrets(pattern, url)) continue
    for (const [name, value] of Object.entries(headers)) {
      const resolved = toFieldValue(value, environment, `The header ${name} that is configured for ${host} cannot be sent`)
      hostHeaders[name.toLowerCase()] = resolved
      if (isSecretHeader(name, value)) onSecret(resolved)
    }
  }
  return hostHeaders
}

function toFieldValue(value: string, environment: Environment, errorPrefix: string): string {
  let resolved
  try {
    resolved = resolveReferences(value, environment)
  } catch (error) {
    throw new FetchRefused(`${errorPrefix}: ${messageOf(error)}.`, { cause: error })
  }
  if (!isFieldValue(resolved)) throw new FetchRefused(`${errorPrefix}: its value contains characters that are not allowed in a header.`)
  return resolved
}

function withoutHash(address: string): string {
  const url = new URL(address)
  url.hash = ''
  return url.href
}

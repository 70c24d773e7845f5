import { FormData } from 'undici'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import { isObject } from '../../json/shape.ts'
import { isFieldValue } from '../web/request-headers.ts'
import type { Body, Encoding, Operation } from './api.ts'
import { isForm, isJson } from './bodies.ts'
import { toHeaderText, toPairs, toPathText, toQuery, toText } from './serialise.ts'

/** A request as built from the input of the model, before credentials and the caller's context are added. */
export interface Request {
  method: string
  url: URL
  headers: Record<string, string>
  cookies: string[]
  body?: string | FormData
}

/** Builds a request from the tool input. Throws a sentence for the model when the input is unusable. */
export function toRequest(operation: Operation, base: URL, input: JsonObject): Request {
  const headers: Record<string, string> = { accept: 'application/json, text/*;q=0.9, */*;q=0.5', 'user-agent': 'agent-core' }
  const queries: string[] = []
  const cookies: string[] = []
  const pathValues = new Map<string, string>()
  for (const parameter of operation.parameters) {
    const value = valueIn(input, parameter.key) ?? parameter.fallback
    if (value === undefined || (value === null && parameter.in !== 'path')) continue
    if (parameter.in === 'path') pathValues.set(parameter.name, toPathText(parameter, value))
    if (parameter.in === 'query') queries.push(toQuery(parameter, value))
    if (parameter.in === 'header') headers[parameter.name.toLowerCase()] = checkedValue(toHeaderText(parameter, value), parameter.key)
    if (parameter.in === 'cookie') cookies.push(toQuery({ ...parameter, style: 'form' }, value).replaceAll('&', '; '))
  }
  const url = toUrl(base, operation.path, pathValues, queries)
  const body = operation.body && toBody(operation.body, input)
  if (body !== undefined && typeof body === 'string') headers['content-type'] = operation.body?.mediaType ?? 'application/json'
  return { method: operation.method, url, headers, cookies, ...(body !== undefined && { body }) }
}

/** Reads own properties only: a key may be named `constructor`. */
function valueIn(input: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(input, key) ? input[key] : undefined
}

function checkedValue(value: string, key: string): string {
  if (!isFieldValue(value)) throw new Error(`${key} contains characters that cannot be sent in a header.`)
  return value
}

function toUrl(base: URL, path: string, pathValues: ReadonlyMap<string, string>, queries: readonly string[]): URL {
  const filled = path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const text = pathValues.get(name)
    if (text === undefined) throw new Error(`${name} is required.`)
    return text
  })
  // Adjacent values can form `..` together, although each value is valid.
  if (filled.split('/').some((part) => /^(\.|%2e){1,2}$/i.test(part))) throw new Error('The path parameters lead out of the path.')
  const url = new URL(base)
  url.pathname = withoutSlashes(base.pathname) + filled
  url.search = [base.search.slice(1), ...queries].filter((part) => part !== '').join('&')
  url.hash = ''
  return url
}

/** Removes trailing slashes with a loop: the regular expression `/+$` needs quadratic time for a hostile document. */
function withoutSlashes(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === '/') end--
  return path.slice(0, end)
}

function toBody(body: Body, input: JsonObject): string | FormData | undefined {
  const value = toBodyValue(body, input)
  if (value === undefined) return undefined
  const { mediaType, encoding } = body
  if (isJson(mediaType)) return JSON.stringify(value)
  if (!isForm(mediaType)) return toText(value)
  if (!isObject(value)) throw new Error('The body must be an object.')
  return mediaType.startsWith('multipart') ? toMultipart(value, encoding) : toUrlEncoded(value, encoding)
}

function toBodyValue({ source, required }: Body, input: JsonObject): JsonValue | undefined {
  if ('key' in source) return valueIn(input, source.key)
  const entries = source.fields.flatMap(({ key, name }) => {
    const value = valueIn(input, key)
    return value === undefined ? [] : [[name, value] as const]
  })
  return entries.length > 0 || required ? Object.fromEntries(entries) : undefined
}

function toUrlEncoded(value: JsonObject, encoding: Body['encoding']): string {
  return Object.entries(value)
    .map(([name, item]) => {
      const { style, explode } = encodingOf(encoding, name)
      // An object without a style is sent as JSON, as in multipart forms.
      if (style === undefined && isObject(item)) return toQuery({ name, style: 'form', explode: true }, JSON.stringify(item))
      return toQuery({ name, style: style ?? 'form', explode: explode ?? (style ?? 'form') === 'form' }, item)
    })
    .filter((part) => part !== '')
    .join('&')
}

function toMultipart(value: JsonObject, encoding: Body['encoding']): FormData {
  const form = new FormData()
  for (const [name, item] of Object.entries(value)) {
    const { contentType, isFile, style, explode = true } = encodingOf(encoding, name)
    const isData = isObject(item) || (Array.isArray(item) && item.some((element) => typeof element === 'object'))
    const type = contentType?.split(',')[0]?.trim() ?? (isData ? 'application/json' : undefined)
    // A list of texts is sent as a repeated field; a deeper value is sent as JSON.
    const texts = isData ? [JSON.stringify(item)] : toPairs({ name, style: 'form', explode }, item).map(([, text]) => join(text, style))
    for (const text of texts) {
      if (!isFile && type === undefined) form.append(name, text)
      else form.append(name, new Blob([text], { type: type ?? 'text/plain' }), isFile ? name : undefined)
    }
  }
  return form
}

/** Joins the items of a list in a single field with the separator of the style. */
function join(text: string, style = 'form'): string {
  return text.split('\0').join(style === 'spaceDelimited' ? ' ' : style === 'pipeDelimited' ? '|' : ',')
}

function encodingOf(encoding: Body['encoding'], name: string): Encoding {
  return (Object.hasOwn(encoding, name) ? encoding[name] : undefined) ?? {}
}

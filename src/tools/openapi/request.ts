import { FormData } from 'undici'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import { isFieldValue } from '../web/request-headers.ts'
import { isObject } from '../../json/is-object.ts'
import type { Body, Encoding, Operation } from './api.ts'
import { isForm, isJson } from './bodies.ts'
import { toHeaderText, toPairs, toPathText, toQuery, toText } from './serialise.ts'

/** A request without what is not the model's: credentials, the caller's context. */
export interface Request {
  method: string
  url: URL
  headers: Record<string, string>
  cookies: string[]
  body?: string | FormData
}

/** Throws with a sentence for the model where its input makes no request. */
export function toRequest(operation: Operation, base: URL, input: JsonObject): Request {
  const headers: Record<string, string> = { accept: 'application/json, text/*;q=0.9, */*;q=0.5', 'user-agent': 'agent-core' }
  const queries: string[] = []
  const cookies: string[] = []
  const places = new Map<string, string>()
  for (const parameter of operation.parameters) {
    const value = valueIn(input, parameter.key) ?? parameter.fallback
    if (value === undefined || (value === null && parameter.in !== 'path')) continue
    if (parameter.in === 'path') places.set(parameter.name, toPathText(parameter, value))
    if (parameter.in === 'query') queries.push(toQuery(parameter, value))
    if (parameter.in === 'header') headers[parameter.name.toLowerCase()] = checkedValue(toHeaderText(parameter, value), parameter.key)
    if (parameter.in === 'cookie') cookies.push(toQuery({ ...parameter, style: 'form' }, value).replaceAll('&', '; '))
  }
  const url = toUrl(base, operation.path, places, queries)
  const body = operation.body && toBody(operation.body, input)
  if (body !== undefined && typeof body === 'string') headers['content-type'] = operation.body?.mediaType ?? 'application/json'
  return { method: operation.method, url, headers, cookies, ...(body !== undefined && { body }) }
}

/** Own properties alone: a key may be called `constructor`. */
function valueIn(input: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(input, key) ? input[key] : undefined
}

function checkedValue(value: string, key: string): string {
  if (!isFieldValue(value)) throw new Error(`${key} holds characters that can not be sent in a header.`)
  return value
}

function toUrl(base: URL, path: string, places: ReadonlyMap<string, string>, queries: readonly string[]): URL {
  const filled = path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const text = places.get(name)
    if (text === undefined) throw new Error(`${name} is required.`)
    return text
  })
  // Two values beside each other may make what neither of them is.
  if (filled.split('/').some((part) => /^(\.|%2e){1,2}$/i.test(part))) throw new Error('The parameters of the path lead out of it.')
  const url = new URL(base)
  url.pathname = withoutSlashes(base.pathname) + filled
  url.search = [base.search.slice(1), ...queries].filter((part) => part !== '').join('&')
  url.hash = ''
  return url
}

/** A document may have as many as it likes, where an expression would look from each of them to the last. */
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

function toBodyValue({ from, required }: Body, input: JsonObject): JsonValue | undefined {
  if ('key' in from) return valueIn(input, from.key)
  const given = from.fields.flatMap(({ key, name }) => {
    const value = valueIn(input, key)
    return value === undefined ? [] : [[name, value] as const]
  })
  return given.length > 0 || required ? Object.fromEntries(given) : undefined
}

function toUrlEncoded(value: JsonObject, encoding: Body['encoding']): string {
  return Object.entries(value)
    .map(([name, item]) => {
      const { style, explode } = ownIn(encoding, name)
      // Without a style an object is data, as it is in a form of several parts.
      if (style === undefined && isObject(item)) return toQuery({ name, style: 'form', explode: true }, JSON.stringify(item))
      return toQuery({ name, style: style ?? 'form', explode: explode ?? (style ?? 'form') === 'form' }, item)
    })
    .filter((part) => part !== '')
    .join('&')
}

function toMultipart(value: JsonObject, encoding: Body['encoding']): FormData {
  const form = new FormData()
  for (const [name, item] of Object.entries(value)) {
    const { contentType, isFile, style, explode = true } = ownIn(encoding, name)
    const isData = isObject(item) || (Array.isArray(item) && item.some((each) => typeof each === 'object'))
    const type = contentType?.split(',')[0]?.trim() ?? (isData ? 'application/json' : undefined)
    // A list of texts is a field that is there several times; anything deeper is data.
    const texts = isData ? [JSON.stringify(item)] : toPairs({ name, style: 'form', explode }, item).map(([, text]) => join(text, style))
    for (const text of texts) {
      if (!isFile && type === undefined) form.append(name, text)
      else form.append(name, new Blob([text], { type: type ?? 'text/plain' }), isFile ? name : undefined)
    }
  }
  return form
}

/** Items of a list that is one field, as its style has them. */
function join(text: string, style = 'form'): string {
  return text.split('\0').join(style === 'spaceDelimited' ? ' ' : style === 'pipeDelimited' ? '|' : ',')
}

function ownIn(encoding: Body['encoding'], name: string): Encoding {
  return (Object.hasOwn(encoding, name) ? encoding[name] : undefined) ?? {}
}

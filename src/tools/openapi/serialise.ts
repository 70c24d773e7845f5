import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import { isObject } from '../../json/shape.ts'
import { decodeUri } from '../plain-text.ts'
import type { Parameter } from './api.ts'

/** Serialises parameter values in the styles of OpenAPI (Parameter Object, "Style Examples"). */

type Pair = readonly [name: string, value: string]

interface StyledParameter {
  name: string
  style: string
  explode: boolean
  allowReserved?: boolean
}

/** `a=1&a=2`, encoded; empty for an empty list or object. */
export function toQuery(parameter: StyledParameter & { isJson?: boolean }, value: JsonValue): string {
  const encode = parameter.allowReserved ? encodeReserved : encodeURIComponent
  const pairs = parameter.isJson ? [[parameter.name, JSON.stringify(value)] as const] : toPairs(parameter, value)
  const joined = (text: string) =>
    text
      .split('\0')
      .map(encode)
      .join(separators[parameter.style] ?? ',')
  return pairs.map(([name, text]) => `${encodeURIComponent(name)}=${joined(text)}`).join('&')
}

/** Separators of a list that is not exploded; the items are encoded, the separators are not. */
const separators: Readonly<Record<string, string>> = { form: ',', spaceDelimited: '%20', pipeDelimited: '|' }

/** Pairs of name and value. The items of a list in one value are separated by NUL, which no value contains. */
export function toPairs({ name, style, explode }: StyledParameter, value: JsonValue): Pair[] {
  if (style === 'deepObject') return toDeepPairs(name, value)
  if (Array.isArray(value)) {
    const items = value.filter((item) => item !== null).map(toText)
    if (items.length === 0) return []
    return explode ? items.map((item) => [name, item]) : [[name, items.join('\0')]]
  }
  if (!isObject(value)) return value === null ? [] : [[name, toText(value)]]
  const entries = toEntries(value)
  return explode ? entries : entries.length === 0 ? [] : [[name, entries.flat().join('\0')]]
}

/** Style `deepObject`: `filter[a][0]=x`. */
function toDeepPairs(name: string, value: JsonValue): Pair[] {
  if (value === null) return []
  if (Array.isArray(value)) return value.flatMap((item, index) => toDeepPairs(`${name}[${index}]`, item))
  if (!isObject(value)) return [[name, toText(value)]]
  return Object.entries(value).flatMap(([key, item]) => toDeepPairs(`${name}[${key}]`, item))
}

/** The text for `{name}` in a path. Throws when the value would change the path. */
export function toPathText({ name, key, style, explode, isJson }: Parameter, value: JsonValue): string {
  const items = isJson ? [JSON.stringify(value)] : Array.isArray(value) ? value.filter((item) => item !== null).map(toText) : undefined
  const entries = !items && isObject(value) ? toEntries(value) : undefined
  const texts = items ?? entries?.flat() ?? [toText(value)]
  if (texts.length === 0 || texts.some((text) => text === '')) throw new Error(`${key} must not be empty.`)
  if (texts.some(leadsElsewhere)) throw new Error(`${key} must not contain "." or ".." as a path segment.`)
  const encoded = texts.map(encodePart)
  const pairs = entries?.map((pair) => pair.map(encodePart).join('='))
  if (style === 'label') return `.${(explode && pairs ? pairs : encoded).join(explode ? '.' : ',')}`
  if (style === 'matrix')
    return toMatrix(encodePart(name), { encoded, pairs: pairs ?? [], explode: explode && (items ?? entries) !== undefined })
  return (explode && pairs ? pairs : encoded).join(',')
}

function toMatrix(name: string, { encoded, pairs, explode }: { encoded: string[]; pairs: string[]; explode: boolean }): string {
  if (!explode) return `;${name}=${encoded.join(',')}`
  return pairs.length > 0 ? pairs.map((pair) => `;${pair}`).join('') : encoded.map((item) => `;${name}=${item}`).join('')
}

/** Servers and proxies decode a path, some of them twice, before resolving `..`. */
function leadsElsewhere(text: string): boolean {
  const plain = [text, decodeUri(text), decodeUri(decodeUri(text))]
  return plain.some((decoded) => decoded.split(/[/\\]/).some((part) => /^\.{1,2}$/.test(part.trim())))
}

export function toHeaderText({ explode, isJson }: Pick<Parameter, 'explode' | 'isJson'>, value: JsonValue): string {
  if (isJson) return JSON.stringify(value)
  if (Array.isArray(value)) return value.map(toText).join(',')
  if (!isObject(value)) return toText(value)
  return explode
    ? toEntries(value)
        .map((pair) => pair.join('='))
        .join(',')
    : toEntries(value).flat().join(',')
}

function toEntries(value: JsonObject): Pair[] {
  return Object.entries(value).flatMap(([key, item]): Pair[] => (item === null ? [] : [[key, toText(item)]]))
}

export function toText(value: JsonValue): string {
  const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.toWellFormed().replaceAll('\0', '')
}

/** Also encodes the characters left by `encodeURIComponent`, because some servers give them a meaning in a path. */
function encodePart(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Reserved expansion (RFC 6570, 3.2.3); characters that would end the value stay encoded. */
function encodeReserved(text: string): string {
  return encodeURIComponent(text).replace(/%(2F|3F|3A|40|24|2C|3B|3D)/g, decodeURIComponent)
}

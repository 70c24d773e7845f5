import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import { isObject } from '../../json/is-object.ts'
import type { Parameter } from './api.ts'

/** Values of parameters as text, in the styles of OpenAPI (Parameter Object, "Style Examples"). */

type Pair = readonly [name: string, value: string]

interface Styled {
  name: string
  style: string
  explode: boolean
  allowReserved?: boolean
}

/** `a=1&a=2`, encoded; nothing for a list or an object without anything in it. */
export function toQuery(parameter: Styled & { isJson?: boolean }, value: JsonValue): string {
  const encode = parameter.allowReserved ? encodeReserved : encodeURIComponent
  const pairs = parameter.isJson ? [[parameter.name, JSON.stringify(value)] as const] : toPairs(parameter, value)
  const joined = (text: string) =>
    text
      .split('\0')
      .map(encode)
      .join(separators[parameter.style] ?? ',')
  return pairs.map(([name, text]) => `${encodeURIComponent(name)}=${joined(text)}`).join('&')
}

/** Between the items of a list that is not exploded; each item is encoded, what is between them is not. */
const separators: Readonly<Record<string, string>> = { form: ',', spaceDelimited: '%20', pipeDelimited: '|' }

/** Items of one value are parted by NUL, which no value has. */
export function toPairs({ name, style, explode }: Styled, value: JsonValue): Pair[] {
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

/** `filter[a][0]=x`. */
function toDeepPairs(name: string, value: JsonValue): Pair[] {
  if (value === null) return []
  if (Array.isArray(value)) return value.flatMap((item, index) => toDeepPairs(`${name}[${index}]`, item))
  if (!isObject(value)) return [[name, toText(value)]]
  return Object.entries(value).flatMap(([key, item]) => toDeepPairs(`${name}[${key}]`, item))
}

/** For the place of `{name}` in a path. Throws where the value would lead elsewhere. */
export function toPathText({ name, key, style, explode, isJson }: Parameter, value: JsonValue): string {
  const items = isJson ? [JSON.stringify(value)] : Array.isArray(value) ? value.filter((one) => one !== null).map(toText) : undefined
  const entries = !items && isObject(value) ? toEntries(value) : undefined
  const texts = items ?? entries?.flat() ?? [toText(value)]
  if (texts.length === 0 || texts.some((text) => text === '')) throw new Error(`${key} can not be empty.`)
  if (texts.some(leadsElsewhere)) throw new Error(`${key} can not hold "." or ".." as a part of a path.`)
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

/** Servers and proxies decode before they resolve `..`, some of them twice. */
function leadsElsewhere(text: string): boolean {
  const plain = [text, decode(text), decode(decode(text))]
  return plain.some((each) => each.split(/[/\\]/).some((part) => /^\.{1,2}$/.test(part.trim())))
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
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

/** `encodeURIComponent` lets through what some servers give a meaning in a path. */
function encodePart(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** RFC 6570, 3.2.3; what would end the value stays encoded. */
function encodeReserved(text: string): string {
  return encodeURIComponent(text).replace(/%(2F|3F|3A|40|24|2C|3B|3D)/g, decodeURIComponent)
}

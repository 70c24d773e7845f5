import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { decodeUri } from '../plain-text.ts'
import type { FetchedResponse } from './fetch-address.ts'
import { parseJson } from '../../json/shape.ts'

/** Maximum bytes of a body. Longer text is cut, and a longer file is refused. */
export const maxBodyBytes = 10 * 1024 * 1024

export interface ResponseOutputOptions {
  context: Pick<ToolContext, 'artifact'>
  /** Maximum characters of the JSON for the model. */
  maxCharacters: number
  mask(text: string): string
}

/** Response headers that are useful to a model. */
const shownHeaderNames = ['location', 'link', 'etag', 'last-modified', 'retry-after', 'allow', 'content-language', 'www-authenticate']

/** Characters reserved for the JSON around a body. */
const envelopeCharacters = 1000

/** The response as tool output: status, some headers, and the body as JSON or text; any other body is kept as an artifact. */
export async function toResponseOutput(response: FetchedResponse, options: ResponseOutputOptions): Promise<JsonObject> {
  const shownHeaders = shownHeaderNames.flatMap((name) => {
    const value = response.headers.get(name)
    return value === null ? [] : [[name, options.mask(value)] as const]
  })
  const maxCharacters = Math.max(0, options.maxCharacters - envelopeCharacters)
  const body = await toBodyOutput(response, { ...options, maxCharacters })
  return { status: response.status, ...(shownHeaders.length > 0 && { headers: Object.fromEntries(shownHeaders) }), ...body }
}

async function toBodyOutput(response: FetchedResponse, { context, maxCharacters, mask }: ResponseOutputOptions): Promise<JsonObject> {
  const type = response.headers.get('content-type')
  if (response.bytes.byteLength === 0) return {}
  const contentType: JsonObject = type === null ? {} : { content_type: mask(type) }
  if (isText(response.bytes, type)) {
    const text = mask(decodeText(response.bytes, type))
    return { ...contentType, body: toValue(text, response, maxCharacters) }
  }
  if (response.isCut) throw new Error(`The response is a file of more than ${maxBodyBytes / 1024 / 1024} MiB, which is too large to keep.`)
  const essence = essenceOf(type)
  const artifact = await context.artifact(toName(response), essence, response.bytes, { isReturned: /^(image|audio)\//.test(essence) })
  return { ...contentType, artifact: { file_name: artifact.name, file_type: artifact.type, size: artifact.size } }
}

function toValue(text: string, { headers, isCut }: FetchedResponse, maxCharacters: number): JsonValue {
  const data = isCut || !/[/+]json$/.test(essenceOf(headers.get('content-type'))) ? undefined : (parseJson(text) as JsonValue | undefined)
  if (data !== undefined) return shortenJson(data, maxCharacters)
  const cutCharacters = text.length - maxCharacters
  if (cutCharacters <= 0) return text
  const count = isCut ? 'the rest' : `${cutCharacters} of ${text.length} characters`
  return `${text.slice(0, maxCharacters).toWellFormed()}\n[cut: ${count} left out]`
}

/** The file name from `content-disposition` (RFC 6266), or else the last segment of the address. */
function toName({ headers, url }: FetchedResponse): string {
  const disposition = headers.get('content-disposition') ?? ''
  const extended = /filename\*\s*=\s*utf-8''([^;]+)/i.exec(disposition)?.[1]
  const plain = /filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]+))/i.exec(disposition)
  const fileName = (extended && decodeUri(extended)) ?? plain?.[1]?.replace(/\\(.)/g, '$1') ?? plain?.[2]?.trim()
  return fileName || decodeUri(new URL(url).pathname.split('/').at(-1) ?? '') || 'answer'
}

/** Decodes a fetched body with its declared encoding, or else as UTF-8 (WHATWG Encoding, HTML 13.2.3.2). */
export function decodeText(bytes: Uint8Array, contentType: string | null): string {
  // A byte order mark wins over every label (Encoding standard, decode).
  const label = markOf(bytes) ?? parameterOf(contentType) ?? declaredIn(bytes) ?? 'utf-8'
  return decode(bytes, label)
}

/** The media type without parameters: `text/html` of `text/html; charset=utf-8`; empty when absent. */
export function essenceOf(contentType: string | null): string {
  return (contentType ?? '').split(';')[0]!.trim().toLowerCase()
}

const textual =
  /^(text\/.+|.+\+(json|xml|yaml)|application\/(json|xml|yaml|x-yaml|javascript|x-www-form-urlencoded|graphql|jsonl|x-ndjson|toml|sql))$/

/** True for a textual media type, and for a body without a media type whose first 1024 bytes contain no NUL. */
export function isText(bytes: Uint8Array, contentType: string | null): boolean {
  const essence = essenceOf(contentType)
  if (textual.test(essence)) return true
  return essence === '' && !bytes.subarray(0, 1024).includes(0)
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined
}

function parameterOf(contentType: string | null): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType ?? '')?.[1]
}

/** The encoding declared in the first 1024 bytes, as in browsers: `<meta charset=...>` or the XML declaration. */
function declaredIn(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString('latin1')
  const label = /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(start)?.[1] ?? /^<\?xml[^>]+encoding\s*=\s*["']([\w-]+)/i.exec(start)?.[1]
  // The declaration was readable as single bytes, so the encoding cannot be UTF-16 (HTML 13.2.3.2).
  return label && /^utf-?16/i.test(label) ? 'utf-8' : label
}

function decode(bytes: Uint8Array, label: string): string {
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** Maximum items per list and characters per text, from most to fewest. */
const steps = [
  { items: 200, characters: 8000 },
  { items: 100, characters: 4000 },
  { items: 50, characters: 2000 },
  { items: 20, characters: 1000 },
  { items: 10, characters: 500 },
  { items: 5, characters: 200 },
  { items: 2, characters: 100 },
] as const

type Step = (typeof steps)[number]

/**
 * Shortens data to `maxCharacters` of JSON. Long lists and texts lose their ends and state how much was left out. Data that does not
 * fit even then is returned in the shortest form.
 */
export function shortenJson(value: JsonValue, maxCharacters: number): JsonValue {
  let shorter = value
  for (const step of steps) {
    if (JSON.stringify(shorter).length <= maxCharacters) return shorter
    shorter = shorten(value, step)
  }
  return shorter
}

function shorten(value: JsonValue, step: Step): JsonValue {
  if (typeof value === 'string') return shortenText(value, step.characters)
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value)) return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, shorten(child, step)]))
  const items = value.slice(0, step.items).map((item) => shorten(item, step))
  return value.length <= step.items ? items : [...items, `[${value.length - step.items} more of ${value.length} left out]`]
}

function shortenText(text: string, characters: number): string {
  if (text.length <= characters) return text
  return `${text.slice(0, characters).toWellFormed()} [${text.length - characters} more characters left out]`
}

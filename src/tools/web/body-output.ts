import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { decodeText, essenceOf, isText } from './decode-text.ts'
import type { FetchedResponse } from './fetch-address.ts'
import { shortenJson } from './shorten.ts'

/** Bytes of a body that are read: of what is longer, text loses its end, and files can't be kept. */
export const maxBodyBytes = 10 * 1024 * 1024

export interface ResponseOutputOptions {
  context: Pick<ToolContext, 'artifact'>
  /** Of the JSON that the model is told. */
  maxCharacters: number
  mask(text: string): string
}

/** What of an answer's headers a model can do something with. */
const toldHeaders = ['location', 'link', 'etag', 'last-modified', 'retry-after', 'allow', 'content-language', 'www-authenticate']

/** Of the JSON around a body. */
const envelopeCharacters = 1000

/** What a model is told of an answer: its status, some headers, and data as JSON, text as text; anything else is kept as a file. */
export async function toResponseOutput(answer: FetchedResponse, options: ResponseOutputOptions): Promise<JsonObject> {
  const told = toldHeaders.flatMap((name) => {
    const value = answer.headers.get(name)
    return value === null ? [] : [[name, options.mask(value)] as const]
  })
  const maxCharacters = Math.max(0, options.maxCharacters - envelopeCharacters)
  const body = await toBodyOutput(answer, { ...options, maxCharacters })
  return { status: answer.status, ...(told.length > 0 && { headers: Object.fromEntries(told) }), ...body }
}

async function toBodyOutput(answer: FetchedResponse, { context, maxCharacters, mask }: ResponseOutputOptions): Promise<JsonObject> {
  const type = answer.headers.get('content-type')
  if (answer.bytes.byteLength === 0) return {}
  const contentType: JsonObject = type === null ? {} : { content_type: mask(type) }
  if (isText(answer.bytes, type)) {
    const text = mask(decodeText(answer.bytes, type))
    return { ...contentType, body: toValue(text, answer, maxCharacters) }
  }
  if (answer.isCut) throw new Error(`The answer is a file of more than ${maxBodyBytes / 1024 / 1024} MiB, which is too large to keep.`)
  const essence = essenceOf(type)
  const kept = await context.artifact(toName(answer), essence, answer.bytes, { isReturned: /^(image|audio)\//.test(essence) })
  return { ...contentType, artifact: { file_name: kept.name, file_type: kept.type, size: kept.size } }
}

function toValue(text: string, { headers, isCut }: FetchedResponse, maxCharacters: number): JsonValue {
  const data = isCut || !/[/+]json$/.test(essenceOf(headers.get('content-type'))) ? undefined : parse(text)
  if (data !== undefined) return shortenJson(data, maxCharacters)
  const left = text.length - maxCharacters
  if (left <= 0) return text
  const count = isCut ? 'the rest' : `${left} of ${text.length} characters`
  return `${text.slice(0, maxCharacters).toWellFormed()}\n[cut: ${count} left out]`
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}

/** As the server calls it (RFC 6266), else as its address ends. */
function toName({ headers, url }: FetchedResponse): string {
  const disposition = headers.get('content-disposition') ?? ''
  const extended = /filename\*\s*=\s*utf-8''([^;]+)/i.exec(disposition)?.[1]
  const plain = /filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]+))/i.exec(disposition)
  const said = decode(extended) ?? plain?.[1]?.replace(/\\(.)/g, '$1') ?? plain?.[2]?.trim()
  return said || decode(new URL(url).pathname.split('/').at(-1)) || 'answer'
}

function decode(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text)
  } catch {
    return text
  }
}

import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { decodeText, essenceOf, isText } from './decode-text.ts'
import type { FetchedResponse } from './fetch-address.ts'
import { shortenJson } from './shorten.ts'

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
  const data = isCut || !/[/+]json$/.test(essenceOf(headers.get('content-type'))) ? undefined : parse(text)
  if (data !== undefined) return shortenJson(data, maxCharacters)
  const cutCharacters = text.length - maxCharacters
  if (cutCharacters <= 0) return text
  const count = isCut ? 'the rest' : `${cutCharacters} of ${text.length} characters`
  return `${text.slice(0, maxCharacters).toWellFormed()}\n[cut: ${count} left out]`
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}

/** The file name from `content-disposition` (RFC 6266), or else the last segment of the address. */
function toName({ headers, url }: FetchedResponse): string {
  const disposition = headers.get('content-disposition') ?? ''
  const extended = /filename\*\s*=\s*utf-8''([^;]+)/i.exec(disposition)?.[1]
  const plain = /filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]+))/i.exec(disposition)
  const fileName = decode(extended) ?? plain?.[1]?.replace(/\\(.)/g, '$1') ?? plain?.[2]?.trim()
  return fileName || decode(new URL(url).pathname.split('/').at(-1)) || 'answer'
}

function decode(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text)
  } catch {
    return text
  }
}

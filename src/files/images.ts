import { open } from 'node:fs/promises'
import type { Sharp } from 'sharp'
import type { Owner } from '../access/owner.ts'
import type { Image } from '../agent/messages.ts'
import { createFairPool } from '../processes/fair-pool.ts'
import { mediaTypeOfBytes } from './media.ts'

/** A fully decoded image, converted for a model. */
export interface FittedImage extends Image {
  /** MIME type of the original image. */
  originalType: string
}

export interface Images {
  /** `content` is base64 or a `data:` URL. Throws an `Error` with the reason in words, or `PoolBusy`. */
  fromText(content: string, caller: Owner): Promise<FittedImage>
  /** Throws as `fromText`. */
  fromFile(absolutePath: string, caller: Owner): Promise<FittedImage>
  /** Throws as `fromText`. */
  fromBytes(bytes: Uint8Array, caller: Owner): Promise<FittedImage>
}

/** Maximum size of an original image, which is the highest limit of the models. */
const maxBytes = 20_000_000
/** Each decoded pixel takes four bytes, and an image of a few kilobytes can claim billions of pixels. */
const maxPixels = 64_000_000
/** Longer sides are scaled down, since models would scale the image themselves after receiving unneeded bytes. */
const maxSide = 2048
/** Below the smallest limit of the providers, 3.75 MB. */
const maxFittedBytes = 3_500_000
const maxSeconds = 20
/** Each decoder takes up to 250 MB and a thread of the pool shared with file and database access. */
const maxDecoders = 2
/** Waiting images per caller. Their bytes are already counted as request bodies. */
const maxWaiting = 1000
const lossyQuality = 85

const formats = { png: 'png', jpeg: 'jpeg', webp: 'webp', gif: 'png' } as const
type Format = keyof typeof formats

const refusal = 'it is not a PNG, JPEG, GIF or WebP image'

/** Decodes images completely, a few at a time, and prepares each for a model: upright, without metadata, only the first frame of an animation. */
export function createImages(): Images {
  const decoding = createFairPool({ slots: maxDecoders, maxWaiting })
  let loading: Promise<Load> | undefined
  const decode = (caller: Owner, bytesOf: () => Buffer | Promise<Buffer>) =>
    decoding.use({ caller }, async () => fit(await (loading ??= loadSharp()), await bytesOf()))
  return {
    async fromText(content, caller) {
      const text = toBase64(content)
      return decode(caller, () => Buffer.from(text, 'base64'))
    },
    fromFile: (absolutePath, caller) => decode(caller, () => readBounded(absolutePath)),
    async fromBytes(bytes, caller) {
      if (bytes.byteLength > maxBytes) throw tooLarge()
      return decode(caller, () => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    },
  }
}

function toBase64(content: string): string {
  const text = content.startsWith('data:') ? dataOfUrl(content) : content
  if (text.length > (maxBytes * 4) / 3 + 4) throw tooLarge()
  if (!isBase64(text)) throw new Error('its content is not base64')
  return text
}

/** Tests in a single pass without backtracking, since the text is untrusted and may be long. */
function isBase64(text: string): boolean {
  const whole = text.trimEnd()
  const padding = whole.endsWith('==') ? 2 : whole.endsWith('=') ? 1 : 0
  return whole.length > padding && !/[^A-Za-z0-9+/\s]/.test(whole.slice(0, whole.length - padding))
}

function dataOfUrl(url: string): string {
  const comma = url.indexOf(',')
  if (comma < 0 || !url.slice(0, comma).toLowerCase().endsWith(';base64')) throw new Error('its data: URL is not base64')
  return url.slice(comma + 1)
}

async function readBounded(absolutePath: string): Promise<Buffer> {
  await using file = await open(absolutePath, 'r')
  if ((await file.stat()).size > maxBytes) throw tooLarge()
  return file.readFile()
}

function tooLarge(): Error {
  return new Error(`it has more than ${maxBytes / 1_000_000} MB`)
}

type Load = (bytes: Buffer) => Sharp

async function fit(load: Load, bytes: Buffer): Promise<FittedImage> {
  const format = await formatOf(load(bytes), bytes)
  try {
    const { data, info } = await encode(load(bytes), formats[format])
    const large = data.length > maxFittedBytes
    const sent = large ? await encode(load(bytes), info.channels === 4 ? 'webp' : 'jpeg') : { data, info }
    return { originalType: `image/${format}`, mediaType: `image/${sent.info.format}`, data: sent.data.toString('base64') }
  } catch (error) {
    const isSlow = error instanceof Error && /timeout/i.test(error.message)
    throw new Error(isSlow ? 'it takes too long to decode' : 'it is broken: it cannot be decoded completely', { cause: error })
  }
}

/** Why bytes are no image. Callers send documents as images, and need to know where documents belong. */
function refusalOf(bytes: Buffer): string {
  const mediaType = mediaTypeOfBytes(bytes)
  if (mediaType === undefined) return refusal
  return `${refusal} but a file of the type ${mediaType}, which belongs in \`context_files\`, or in a file part of a message`
}

/** Reads only the header. */
async function formatOf(image: Sharp, bytes: Buffer): Promise<Format> {
  const metadata = await image.metadata().catch((cause: Error) => {
    throw new Error(/pixel limit/.test(cause.message) ? `it has more than ${maxPixels / 1_000_000} million pixels` : refusalOf(bytes), {
      cause,
    })
  })
  if (!Object.hasOwn(formats, metadata.format)) throw new Error(refusalOf(bytes))
  return metadata.format as Format
}

function encode(image: Sharp, format: 'png' | 'jpeg' | 'webp'): Promise<{ data: Buffer; info: { format: string; channels: number } }> {
  const sized = image.autoOrient().resize({ width: maxSide, height: maxSide, fit: 'inside', withoutEnlargement: true })
  const encoded =
    format === 'png' ? sized.png() : format === 'jpeg' ? sized.jpeg({ quality: lossyQuality }) : sized.webp({ quality: lossyQuality })
  return encoded.timeout({ seconds: maxSeconds }).toBuffer({ resolveWithObject: true })
}

/** Imported at the first image: `sharp` takes longer to load than the rest of a start. */
async function loadSharp(): Promise<Load> {
  const { default: sharp } = await import('sharp')
  // The bytes of an image choose the decoder, so all decoders except the four allowed formats (SVG, PDF, TIFF and more) are blocked.
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: ['Png', 'Jpeg', 'Webp', 'Nsgif'].map((name) => `VipsForeignLoad${name}Buffer`) })
  sharp.cache(false)
  return (bytes) => sharp(bytes, { failOn: 'error', limitInputPixels: maxPixels })
}

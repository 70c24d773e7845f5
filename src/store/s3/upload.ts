import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { FileBytes } from '../../artifacts/artifact-store.ts'
import { call, inParallel, S3Error, uploadMs, type Bucket } from './calls.ts'

/** Files larger than `wholeBytes` are sent in parts of `partBytes`. */
const wholeBytes = 16 * 1024 * 1024
const partBytes = 8 * 1024 * 1024

/** Headers of stored objects: without a link of the service, a browser saves the file and shows no page of the bucket's origin. */
const described = { ContentType: 'application/octet-stream', ContentDisposition: 'attachment' }

/** Uploads a file atomically. */
export async function upload(bucket: Bucket, key: string, bytes: FileBytes): Promise<void> {
  if (!(bytes instanceof Uint8Array)) return uploadArriving(bucket, key, bytes)
  if (bytes.byteLength <= wholeBytes) return uploadWhole(bucket, key, bytes)
  await uploadParts(bucket, key, async (send) => {
    const count = Math.ceil(bytes.byteLength / partBytes)
    await inParallel(Array(count).keys(), async (n) => send(n, bytes.subarray(n * partBytes, (n + 1) * partBytes)))
    return bytes.byteLength
  })
}

async function uploadWhole({ client, bucket: Bucket }: Bucket, key: string, bytes: Uint8Array): Promise<void> {
  const put = new PutObjectCommand({ Bucket, Key: key, Body: bytes, ContentLength: bytes.byteLength, ...described })
  await call((options) => client.send(put, options), uploadMs)
}

/** Uploads a file that is still arriving, one part at a time. A file of a single part needs a single call. */
async function uploadArriving(bucket: Bucket, key: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const parts = inParts(bytes, partBytes)
  const first = await parts.next()
  const second = first.done ? first : await parts.next()
  if (first.done || second.done) return uploadWhole(bucket, key, first.value ?? new Uint8Array())
  await uploadParts(bucket, key, async (send) => {
    await send(0, first.value)
    await send(1, second.value)
    let size = first.value.byteLength + second.value.byteLength
    let count = 2
    for await (const part of parts) {
      await send(count++, part)
      size += part.byteLength
    }
    return size
  })
}

/** Joins chunks to parts of `size` bytes; the last part may be shorter. */
async function* inParts(chunks: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array, undefined> {
  let part: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.byteLength;) {
      const piece = chunk.subarray(start, start + size - length)
      part.push(piece)
      length += piece.byteLength
      start += piece.byteLength
      if (length < size) continue
      yield Buffer.concat(part)
      part = []
      length = 0
    }
  }
  if (length > 0) yield Buffer.concat(part)
}

type SendPart = (n: number, part: Uint8Array) => Promise<void>

/** `sendAll` sends every part, and resolves with the number of bytes. */
async function uploadParts(bucket: Bucket, key: string, sendAll: (send: SendPart) => Promise<number>): Promise<void> {
  const { client, bucket: Bucket } = bucket
  const begin = new CreateMultipartUploadCommand({ Bucket, Key: key, ...described })
  const { UploadId } = await call((options) => client.send(begin, options))
  const at = { Bucket, Key: key, UploadId }
  try {
    const tags: (string | undefined)[] = []
    const size = await sendAll(async (n, Body) => {
      const send = new UploadPartCommand({ ...at, PartNumber: n + 1, Body, ContentLength: Body.byteLength })
      tags[n] = (await call((options) => client.send(send, options), uploadMs)).ETag
    })
    const Parts = tags.map((ETag, n) => ({ ETag, PartNumber: n + 1 }))
    const complete = new CompleteMultipartUploadCommand({ ...at, MultipartUpload: { Parts } })
    await call((options) => client.send(complete, options), uploadMs).catch(async (error: unknown) => {
      if (!(await isThere(bucket, key, size, error))) throw error
    })
  } catch (error) {
    // `abortUploads` finds remaining uploads later.
    await call((options) => client.send(new AbortMultipartUploadCommand(at), options)).catch(() => undefined)
    throw error
  }
}

/** True when the upload is complete although the call failed: the answer to the first try was lost, and the retry found no upload. */
async function isThere({ client, bucket: Bucket }: Bucket, key: string, size: number, error: unknown): Promise<boolean> {
  if (!(error instanceof S3Error) || error.code !== 'NoSuchUpload') return false
  const head = await call((options) => client.send(new HeadObjectCommand({ Bucket, Key: key }), options)).catch(() => undefined)
  return head?.ContentLength === size
}

/** Aborts unfinished uploads of this service that began before `before` (epoch milliseconds). */
export async function abortUploads(
  { client, bucket: Bucket, prefix }: Bucket,
  isOurs: (key: string) => boolean,
  before: number,
): Promise<void> {
  let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}
  while (marker) {
    const list: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({ Bucket, Prefix: prefix, ...marker })
    const page = await call((options) => client.send(list, options)).catch((error: unknown) => {
      // Servers without a list of uploads have a lifecycle rule that ends old ones.
      if (error instanceof S3Error && (error.status === 501 || error.code === 'NotImplemented')) return undefined
      throw error
    })
    for (const { Key, UploadId, Initiated } of page?.Uploads ?? []) {
      if (Key === undefined || !isOurs(Key) || !Initiated || Initiated.getTime() >= before) continue
      const abort = new AbortMultipartUploadCommand({ Bucket, Key, UploadId })
      await call((options) => client.send(abort, options)).catch((error: unknown) => {
        if (!(error instanceof S3Error) || error.code !== 'NoSuchUpload') throw error
      })
    }
    marker = page?.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : undefined
  }
}

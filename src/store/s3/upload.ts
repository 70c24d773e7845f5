import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { call, inParallel, S3Error, uploadMs, type Bucket } from './calls.ts'

/** What is larger is sent in parts. */
const wholeBytes = 16 * 1024 * 1024
const partBytes = 8 * 1024 * 1024

/** Whoever opens it without our link gets a file to save, not a page of the bucket's origin. */
const described = { ContentType: 'application/octet-stream', ContentDisposition: 'attachment' }

/** Sends a file; it is there whole, or not at all. */
export async function upload(bucket: Bucket, key: string, bytes: Uint8Array): Promise<void> {
  const { client, bucket: Bucket } = bucket
  if (bytes.byteLength > wholeBytes) return uploadParts(bucket, key, bytes)
  const put = new PutObjectCommand({ Bucket, Key: key, Body: bytes, ContentLength: bytes.byteLength, ...described })
  await call((options) => client.send(put, options), uploadMs)
}

async function uploadParts(bucket: Bucket, key: string, bytes: Uint8Array): Promise<void> {
  const { client, bucket: Bucket } = bucket
  const begin = new CreateMultipartUploadCommand({ Bucket, Key: key, ...described })
  const { UploadId } = await call((options) => client.send(begin, options))
  const at = { Bucket, Key: key, UploadId }
  try {
    const tags: (string | undefined)[] = []
    const count = Math.ceil(bytes.byteLength / partBytes)
    await inParallel(Array(count).keys(), async (n) => {
      const Body = bytes.subarray(n * partBytes, (n + 1) * partBytes)
      const send = new UploadPartCommand({ ...at, PartNumber: n + 1, Body, ContentLength: Body.byteLength })
      tags[n] = (await call((options) => client.send(send, options), uploadMs)).ETag
    })
    const Parts = tags.map((ETag, n) => ({ ETag, PartNumber: n + 1 }))
    const complete = new CompleteMultipartUploadCommand({ ...at, MultipartUpload: { Parts } })
    await call((options) => client.send(complete, options), uploadMs).catch(async (error: unknown) => {
      if (!(await isThere(bucket, key, bytes.byteLength, error))) throw error
    })
  } catch (error) {
    // What stays behind is found by `abortUploads` later.
    await call((options) => client.send(new AbortMultipartUploadCommand(at), options)).catch(() => undefined)
    throw error
  }
}

/** The answer to the first try was lost, and the second found nothing left to put together. */
async function isThere({ client, bucket: Bucket }: Bucket, key: string, size: number, error: unknown): Promise<boolean> {
  if (!(error instanceof S3Error) || error.code !== 'NoSuchUpload') return false
  const head = await call((options) => client.send(new HeadObjectCommand({ Bucket, Key: key }), options)).catch(() => undefined)
  return head?.ContentLength === size
}

/** Gives up uploads of ours that were begun before then (epoch milliseconds) and never ended. */
export async function abortUploads(
  { client, bucket: Bucket, prefix }: Bucket,
  isOurs: (key: string) => boolean,
  before: number,
): Promise<void> {
  let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}
  while (marker) {
    const list: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({ Bucket, Prefix: prefix, ...marker })
    const page = await call((options) => client.send(list, options)).catch((error: unknown) => {
      // Not every server can tell; such have a rule that ends them.
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

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

/** Files larger than `wholeBytes` are sent in parts of `partBytes`. */
const wholeBytes = 16 * 1024 * 1024
const partBytes = 8 * 1024 * 1024

/** Headers of stored objects: without a link of the service, a browser saves the file and shows no page of the bucket's origin. */
const described = { ContentType: 'application/octet-stream', ContentDisposition: 'attachment' }

/** Uploads a file atomically. */
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

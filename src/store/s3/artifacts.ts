import { Readable } from 'node:stream'
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { create as attachment } from 'content-disposition'
import type { ArtifactBytes, ArtifactFolder, ArtifactLocation, LinkedFile } from '../../artifacts/artifact-store.ts'
import { isActive } from '../../artifacts/file-name.ts'
import type { S3Settings } from '../../settings/artifacts.ts'
import { isSafeName, requireSafeName } from '../disk/artifact-files.ts'
import { call, inParallel, orMissing, toS3Error, type Bucket, createClient } from './calls.ts'
import { abortUploads, upload } from './upload.ts'

/** `ArtifactBytes` as objects `<prefix>/<folder>/<id>` of a bucket. Links are presigned URLs of the bucket. */
export function createArtifactBucket(settings: S3Settings): ArtifactBytes & { close(): void } {
  const { bucket: Bucket, prefix, publicEndpoint } = settings
  const client = createClient(settings)
  // A signature is valid for one host only.
  const signer = publicEndpoint === undefined ? client : createClient(settings, publicEndpoint)
  const bucket: Bucket = { client, bucket: Bucket, prefix }
  const keyOf = ({ folder, id }: ArtifactLocation) => `${prefix}${requireSafeName(folder)}/${requireSafeName(id)}`

  /** The folder of an artifact's key; undefined for keys of other programs. */
  function folderOf(key: string): string | undefined {
    const [folder, id, ...rest] = key.slice(prefix.length).split('/')
    return rest.length === 0 && isSafeName(folder!) && id !== undefined && isSafeName(id) ? folder : undefined
  }

  /** Pages of keys in alphabetical order, so that the keys of a folder are adjacent. */
  async function* pages(within: string): AsyncGenerator<{ key: string; changedAt: number }[]> {
    let token: string | undefined
    do {
      const list = new ListObjectsV2Command({
        Bucket,
        Prefix: prefix + within,
        ...(token === undefined ? {} : { ContinuationToken: token }),
      })
      const page: ListObjectsV2CommandOutput = await call((options) => client.send(list, options))
      yield (page.Contents ?? []).map(({ Key, LastModified }) => ({ key: Key ?? '', changedAt: LastModified?.getTime() ?? Date.now() }))
      token = page.IsTruncated ? page.NextContinuationToken : undefined
    } while (token !== undefined)
  }

  const get = (Key: string, Range: string | undefined) => new GetObjectCommand({ Bucket, Key, ...(Range === undefined ? {} : { Range }) })

  return {
    put: async (location, bytes) => upload(bucket, keyOf(location), bytes),

    async open(location) {
      const Key = keyOf(location)
      const head = await orMissing(call((options) => client.send(new HeadObjectCommand({ Bucket, Key }), options)))
      if (!head) return undefined
      return {
        size: head.ContentLength ?? 0,
        read: (range) => read(bucket, get(Key, range && `bytes=${range.start}-${range.end}`)),
        close: async () => undefined,
      }
    },

    async has(location) {
      const head = new HeadObjectCommand({ Bucket, Key: keyOf(location) })
      return (await orMissing(call((options) => client.send(head, options)))) !== undefined
    },

    async copyAll(source, target) {
      for await (const page of pages(`${requireSafeName(source)}/`)) {
        const ours = page.filter(({ key }) => folderOf(key) === source)
        await inParallel(ours, async ({ key }) => {
          const Key = `${prefix}${requireSafeName(target)}/${key.slice(prefix.length + source.length + 1)}`
          const copy = new CopyObjectCommand({ Bucket, Key, CopySource: `${Bucket}/${key}` })
          // An object deleted meanwhile is skipped.
          await orMissing(call((options) => client.send(copy, options), copyMs))
        })
      }
    },

    async deleteAll(folder) {
      for await (const page of pages(`${requireSafeName(folder)}/`)) {
        // Each object is deleted on its own: `DeleteObjects` needs a checksum on many servers, and fails with a checksum on others.
        await inParallel(page, ({ key }) =>
          orMissing(call((options) => client.send(new DeleteObjectCommand({ Bucket, Key: key }), options))),
        )
      }
    },

    async delete(location) {
      const Key = keyOf(location)
      await orMissing(call((options) => client.send(new DeleteObjectCommand({ Bucket, Key }), options)))
    },

    async *folders() {
      let folder: ArtifactFolder | undefined
      for await (const page of pages('')) {
        for (const { key, changedAt } of page) {
          const name = folderOf(key)
          if (name === undefined) continue
          if (folder?.name === name) folder.changedAt = Math.max(folder.changedAt, changedAt)
          else {
            if (folder) yield folder
            folder = { name, changedAt }
          }
        }
      }
      if (folder) yield folder
    },

    dropDrafts: (before) => abortUploads(bucket, (key) => folderOf(key) !== undefined, before),

    link: async (location, file, seconds) => getSignedUrl(signer, toDownload(Bucket, keyOf(location), file), { expiresIn: seconds }),

    close() {
      client.destroy()
      signer.destroy()
    },
  }
}

/** Time limit of a copy within the server, in milliseconds. */
const copyMs = 60_000

/** Sends the request at the first read, and aborts the request when the stream is destroyed. */
function read({ client }: Bucket, get: GetObjectCommand): Readable {
  const leaving = new AbortController()
  async function* bytes(): AsyncGenerator<Uint8Array, void> {
    try {
      const abortSignal = leaving.signal
      const { Body } = await client.send(get, { abortSignal })
      yield* Body as AsyncIterable<Uint8Array>
    } catch (error) {
      throw toS3Error(error)
    }
  }
  return Readable.from(bytes(), { objectMode: false }).once('close', () => leaving.abort())
}

/** A download link. A bucket sends no content security policy, so active types become bytes, and every file an attachment. */
function toDownload(Bucket: string, Key: string, { name, type }: LinkedFile): GetObjectCommand {
  return new GetObjectCommand({
    Bucket,
    Key,
    ResponseContentDisposition: attachment(name),
    ResponseContentType: isActive(type) ? 'application/octet-stream' : type,
    ResponseCacheControl: 'private, no-store',
  })
}

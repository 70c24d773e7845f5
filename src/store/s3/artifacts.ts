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
import type { ArtifactBytes, ArtifactFolder, ArtifactLocation, LinkedFile } from '../../artifacts/artifact-bytes.ts'
import { isActive } from '../../artifacts/media-type.ts'
import type { S3Settings } from '../../settings/artifacts.ts'
import { isPlaceName, placeName } from '../disk/artifact-place.ts'
import { call, inParallel, orMissing, toS3Error, type Bucket } from './calls.ts'
import { createClient } from './client.ts'
import { abortUploads, upload } from './upload.ts'

/** `ArtifactBytes` as `<prefix>/<folder>/<id>` in a bucket. Its links are the bucket's own. */
export function createArtifactBucket(settings: S3Settings): ArtifactBytes & { close(): void } {
  const { bucket: Bucket, prefix, publicEndpoint } = settings
  const client = createClient(settings)
  // A signature holds for the host that it was made for.
  const signer = publicEndpoint === undefined ? client : createClient(settings, publicEndpoint)
  const bucket: Bucket = { client, bucket: Bucket, prefix }
  const keyOf = ({ folder, id }: ArtifactLocation) => `${prefix}${placeName(folder)}/${placeName(id)}`

  /** The folder of a file of ours; undefined for what others keep there. */
  function folderOf(key: string): string | undefined {
    const [folder, id, ...rest] = key.slice(prefix.length).split('/')
    return rest.length === 0 && isPlaceName(folder!) && id !== undefined && isPlaceName(id) ? folder : undefined
  }

  /** Pages of keys in their order, which is that of the folders too. */
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
      for await (const page of pages(`${placeName(source)}/`)) {
        const ours = page.filter(({ key }) => folderOf(key) === source)
        await inParallel(ours, async ({ key }) => {
          const Key = `${prefix}${placeName(target)}/${key.slice(prefix.length + source.length + 1)}`
          const copy = new CopyObjectCommand({ Bucket, Key, CopySource: `${Bucket}/${key}` })
          // What was deleted meanwhile has no copy.
          await orMissing(call((options) => client.send(copy, options), copyMs))
        })
      }
    },

    async deleteAll(folder) {
      for await (const page of pages(`${placeName(folder)}/`)) {
        // One by one: many servers want a checksum with a list of names that others don't know.
        await inParallel(page, ({ key }) =>
          orMissing(call((options) => client.send(new DeleteObjectCommand({ Bucket, Key: key }), options))),
        )
      }
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

/** The server copies by itself, in the time that it needs. */
const copyMs = 60_000

/** Asks when somebody reads; what is destroyed is asked for no longer. */
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

/** A bucket sets no policy for its pages: what a browser would run is told to be bytes, and everything is a file to save. */
function toDownload(Bucket: string, Key: string, { name, type }: LinkedFile): GetObjectCommand {
  return new GetObjectCommand({
    Bucket,
    Key,
    ResponseContentDisposition: attachment(name),
    ResponseContentType: isActive(type) ? 'application/octet-stream' : type,
    ResponseCacheControl: 'private, no-store',
  })
}

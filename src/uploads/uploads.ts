import { createHash } from 'node:crypto'
import type { Owner } from '../access/owner.ts'
import type { Acting } from '../audit/acts.ts'
import { createReach, type ArtifactBytes, type OpenArtifact } from '../artifacts/artifact-store.ts'
import { toFileName, toMediaType } from '../artifacts/file-name.ts'
import { ServiceError } from '../errors.ts'
import { knowledgePurpose, type Upload, type UploadPage, type UploadQuotas, type UploadScope, type UploadStore } from './upload-store.ts'

/** A file that a caller sends. */
export interface NewUpload {
  /** True for a document of the tenant, which counts against the tenant alone. */
  isKnowledge: boolean
  /** Upper bound of the file's size in bytes, where the client has stated one. */
  maxBytes?: number | undefined
  /** The bytes, as the client sends them. A thrown `ServiceError` reaches the caller. */
  content: AsyncIterable<Uint8Array>
  /** Describes the file, once all bytes have arrived: clients may send the description behind the file. A throw discards the file. */
  describe(): Promise<UploadDescription>
}

export interface UploadDescription {
  /** Ignored for documents of the tenant. */
  purpose?: string
  /** As the client sent it. */
  name: string
  /** As the client sent it; the type of the name replaces an invalid one. */
  type: string
  /** Epoch milliseconds. */
  expiresAt?: number | undefined
  /** True for a document that replaces earlier documents of the same name, once the new document can be searched. */
  replaces?: boolean | undefined
}

/** Bytes. */
interface UploadLimits extends UploadQuotas {
  /** Of one file. */
  fileBytes: number
}

/** Files that callers send. `not_found` also covers uploads of other callers; unreachable bytes give `artifacts_unavailable`. */
export interface Uploads {
  /** Stores a file while it arrives. After a rejection nothing of the file is left: `input_too_large`, `upload_quota`, or what `content` and `describe` throw. */
  add(owner: Owner, upload: NewUpload): Promise<Upload>
  find(scope: UploadScope, id: string): Promise<Upload>
  list(scope: UploadScope, page: UploadPage): Promise<{ uploads: Upload[]; hasMore: boolean }>
  /** Opens the bytes; the caller reads or closes the file. */
  open(scope: UploadScope, id: string): Promise<{ upload: Upload; content: OpenArtifact }>
  remove(scope: UploadScope, id: string, acting: Acting): Promise<void>
  /** Deletes the bytes of a removed upload. */
  deleteBytes(id: string): Promise<void>
}

interface UploadsDependencies {
  bytes: ArtifactBytes
  store: UploadStore
  limits(): UploadLimits
  /** Deletes the bytes of removed uploads soon. */
  wake(): void
  now(): number
  newId(): string
  onFault(error: unknown): void
}

/** The artifact store has a folder for each upload, so that one can be deleted alone. */
const folderPrefix = 'upload-'
/** Time limit of an upload. Shorter than the time after which incomplete files count as left by dead processes. */
const arrivalMs = 30 * 60_000
/** After this time a reservation counts as broken. */
const reservedMs = 2 * arrivalMs

export function uploadFolderOf(id: string): string {
  return folderPrefix + id
}

/** The id of the upload with the given folder; undefined for folders without an upload. */
export function uploadIdOf(folder: string): string | undefined {
  return folder.startsWith(folderPrefix) ? folder.slice(folderPrefix.length) : undefined
}

export function createUploads(dependencies: UploadsDependencies): Uploads {
  const { bytes, store, wake, now, newId, onFault } = dependencies
  const locationOf = (id: string) => ({ folder: uploadFolderOf(id), id })

  const reach = createReach(onFault)

  async function find(scope: UploadScope, id: string): Promise<Upload> {
    const upload = await store.find(scope, id, now())
    if (!upload) throw missing()
    return upload
  }

  /** Removes what a failed upload has left. The sweep removes the rest when this fails too. */
  async function discard(tenant: string, id: string): Promise<void> {
    await store.cancel({ tenant, id }).catch(onFault)
    await bytes.deleteAll(uploadFolderOf(id)).catch(onFault)
  }

  return {
    async add(owner, upload) {
      const id = newId()
      const { tenant } = owner
      const check = await reserve(owner, id, upload, dependencies)
      try {
        const measured = measure(upload.content, check)
        await reach(bytes.put(locationOf(id), measured.chunks))
        const { purpose = '', name, type, expiresAt, replaces } = await upload.describe()
        const fileName = toFileName(name)
        const stored: Upload = {
          tenant,
          owner: owner.owner,
          id,
          purpose: upload.isKnowledge ? knowledgePurpose : purpose,
          name: fileName,
          type: toMediaType(type, fileName),
          size: measured.size(),
          sha256: measured.sha256(),
          createdAt: now(),
          expiresAt,
        }
        if (!(await store.complete(stored, { replaces }))) throw tooSlow()
        return stored
      } catch (error) {
        await discard(tenant, id)
        throw error
      }
    },

    find,

    async list(scope, page) {
      const found = await store.list(scope, { ...page, limit: page.limit + 1 }, now())
      return { uploads: found.slice(0, page.limit), hasMore: found.length > page.limit }
    },

    async open(scope, id) {
      const upload = await find(scope, id)
      const content = await reach(bytes.open(locationOf(id)))
      if (!content) throw missing()
      return { upload, content }
    },

    async remove(scope, id, acting) {
      if (!(await store.remove(scope, id, now(), acting))) throw missing()
      wake()
    },

    deleteBytes: (id) => bytes.deleteAll(uploadFolderOf(id)),
  }
}

/** Reserves space, and returns a check for the number of bytes so far. */
async function reserve(
  { tenant, owner }: Owner,
  id: string,
  { isKnowledge, maxBytes = Infinity }: NewUpload,
  { limits, now, store }: UploadsDependencies,
) {
  const { fileBytes, ...quotas } = limits()
  const startedAt = now()
  const size = Math.min(fileBytes, maxBytes)
  const reservation = { tenant, owner, id, isKnowledge, size, now: startedAt, until: startedAt + reservedMs }
  const { bytes: grantedBytes, limitedBy } = await store.reserve(reservation, quotas)
  if (grantedBytes === 0 && limitedBy) throw overQuota(limitedBy, quotas)
  return (arrivedBytes: number) => {
    if (now() - startedAt > arrivalMs) throw tooSlow()
    if (arrivedBytes <= grantedBytes) return
    if (limitedBy) throw overQuota(limitedBy, quotas)
    throw new ServiceError('input_too_large', `A file may have at most ${fileBytes} bytes (\`limits.max_upload_bytes\`).`)
  }
}

/** Counts and hashes bytes on their way; `check` gets the number of bytes so far, and throws when the file must be refused. */
function measure(content: AsyncIterable<Uint8Array>, check: (size: number) => void) {
  const hash = createHash('sha256')
  let size = 0
  async function* chunks(): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of content) {
      size += chunk.byteLength
      check(size)
      hash.update(chunk)
      yield chunk
    }
  }
  return { chunks: chunks(), size: () => size, sha256: () => hash.digest('hex') }
}

function overQuota(quota: keyof UploadQuotas, quotas: UploadQuotas): ServiceError {
  const [whose, setting] =
    quota === 'ownerBytes' ? ['Your files', 'max_owner_upload_bytes'] : ['The files of the tenant', 'max_tenant_upload_bytes']
  return new ServiceError('upload_quota', `${whose} may have ${quotas[quota]} bytes together (\`limits.${setting}\`). Delete some first.`)
}

function tooSlow(): ServiceError {
  return new ServiceError('request_timeout', 'The file took too long to arrive.')
}

function missing(): ServiceError {
  return new ServiceError('not_found', 'There is no such file.')
}

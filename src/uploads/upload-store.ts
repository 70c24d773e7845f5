import type { Owner } from '../access/owner.ts'
import type { Acting } from '../audit/acts.ts'

/** The purpose of documents of the tenant, which `knowledge_search` reads. */
export const knowledgePurpose = 'knowledge'

/** A file that a caller sent, without its bytes. */
export interface Upload extends Owner {
  /** UUIDv7. */
  id: string
  /** What the file is for: `knowledge`, or a purpose of the caller. */
  purpose: string
  name: string
  /** MIME type. */
  type: string
  /** Bytes. */
  size: number
  /** Of the bytes, hexadecimal. */
  sha256: string
  /** Epoch milliseconds. */
  createdAt: number
  /** Epoch milliseconds; undefined: no end of its own. */
  expiresAt: number | undefined
}

/** The uploads that a caller sees: the caller's own, or the documents of the tenant. Neither contains the other. */
export type UploadScope = ({ kind: 'own' } & Owner) | { kind: 'knowledge'; tenant: string }

/** An upload whose bytes are arriving. */
export interface Reservation extends Owner {
  id: string
  isKnowledge: boolean
  /** The bytes that the upload may have. */
  size: number
  now: number
  /** Epoch milliseconds after which the upload counts as broken. */
  until: number
}

/** The bytes of all uploads, those that are arriving included. */
export interface UploadQuotas {
  /** Of one owner, without documents of the tenant. */
  ownerBytes: number
  /** Of one tenant, documents included. */
  tenantBytes: number
}

/** What the quotas leave for an upload. */
export interface Grant {
  /** 0: nothing is reserved. */
  bytes: number
  /** The quota that leaves less than was asked for. */
  limitedBy: keyof UploadQuotas | undefined
}

/** A part of the list, in the order of creation. */
export interface UploadPage {
  limit: number
  order: 'newest_first' | 'oldest_first'
  /** The id of the last upload of the page before; it need not exist any more. */
  after: string | undefined
  purpose?: string | undefined
}

/** Port: the uploads of all callers. Uploads that are arriving or have expired are neither found nor listed. */
export interface UploadStore {
  /** Counts an upload against the quotas before its bytes arrive. Concurrent reservations never exceed a quota together. */
  reserve(reservation: Reservation, quotas: UploadQuotas): Promise<Grant>
  /**
   * Turns the reservation into an upload. False when the reservation is gone. `replaces`: the document replaces earlier ones of its name when it can
   * be searched.
   */
  complete(upload: Upload, options?: { replaces?: boolean | undefined }): Promise<boolean>
  find(scope: UploadScope, id: string, now: number): Promise<Upload | undefined>
  list(scope: UploadScope, page: UploadPage, now: number): Promise<Upload[]>
  /** Removes an upload and adds a job that deletes its bytes. False when there is no such upload. */
  remove(scope: UploadScope, id: string, now: number, acting?: Acting): Promise<boolean>
  /** Removes a reservation. */
  cancel(reservation: Pick<Reservation, 'tenant' | 'id'>): Promise<void>
  /** Removes at most `limit` expired uploads and broken reservations, with jobs for their bytes. Resolves with their number. */
  removeExpired(now: number, limit: number): Promise<number>
}

/** Ids of uploads as callers see them. */

export function toFileId(uploadId: string): string {
  return `file-${uploadId}`
}

/** The upload of `file-<id>`; undefined for another text. */
export function uploadIn(fileId: string): string | undefined {
  return /^file-([0-9a-f-]{36})$/.exec(fileId)?.[1]
}

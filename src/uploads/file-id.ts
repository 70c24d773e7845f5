/** Ids of uploads as callers see them. */

export function toFileId(uploadId: string): string {
  return `file-${uploadId}`
}

/** The upload of `file-<id>`; undefined for another text. */
export function uploadIn(fileId: string): string | undefined {
  return /^file-([0-9a-f-]{36})$/.exec(fileId)?.[1]
}

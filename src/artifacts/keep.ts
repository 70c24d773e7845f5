import { webcrypto } from 'node:crypto'
import type { Artifact, KeepArtifact } from '../agent/messages.ts'
import type { ArtifactBytes } from './artifact-store.ts'
import { toFileName, toMediaType } from './file-name.ts'

/** Limits of one run or direct execution. */
export interface ArtifactLimits {
  /** Bytes of one file. */
  file: number
  files: number
  /** Bytes of all files together. */
  total: number
}

export interface KeeperOptions {
  folder: string
  limits: ArtifactLimits
  /** Files stored before the run was taken over. */
  earlier: readonly Artifact[]
}

interface KeeperDependencies {
  bytes: ArtifactBytes
  now(): number
  newId(): string
  /** Reports an internal error: the model only learns that the file was not stored. */
  onFault(error: unknown): void
}

/** Stores files within limits. Error messages are written for the model that requested the file. */
export function createKeeper(
  { folder, limits, earlier }: KeeperOptions,
  { bytes: store, now, newId, onFault }: KeeperDependencies,
): KeepArtifact {
  let files = earlier.length
  let total = earlier.reduce((sum, artifact) => sum + artifact.size, 0)

  return async (file) => {
    const { tool, bytes } = file
    const size = bytes.byteLength
    const name = toFileName(file.name)
    if (size > limits.file) throw new Error(`${name} has ${size} bytes; a file may have ${limits.file}.`)
    if (files >= limits.files) throw new Error(`${name} was not kept: there are ${files} files already, and there may be no more.`)
    if (total + size > limits.total) throw new Error(`${name} was not kept: all files together may have ${limits.total} bytes.`)
    const artifact = { id: newId(), name, type: toMediaType(file.type, name), size, tool, createdAt: now() }
    // Counted before the write: several files arrive at the same time.
    files++
    total += size
    try {
      await store.put({ folder, id: artifact.id }, bytes)
      return { ...artifact, sha256: await sha256Of(bytes) }
    } catch (error) {
      files--
      total -= size
      onFault(error)
      throw new Error(`${name} could not be kept: ${isFull(error) ? 'there is no room left' : 'its folder cannot be written to'}.`, {
        cause: error,
      })
    }
  }
}

/** Hashes on another thread, because files may be large. */
async function sha256Of(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex')
}

function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '')
}

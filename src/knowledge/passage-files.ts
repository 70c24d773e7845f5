import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { ArtifactBytes, ArtifactLocation } from '../artifacts/artifact-bytes.ts'
import type { Section } from '../files/document.ts'
import { uploadFolderOf } from '../uploads/uploads.ts'

/** The passages of uploaded documents, stored beside the bytes of each upload and removed with them. */
export interface PassageFiles {
  /** Durable when resolved. */
  save(uploadId: string, passages: readonly Section[]): Promise<void>
  /** Undefined when there is no such document any more. */
  load(uploadId: string): Promise<Section[] | undefined>
  /** Removes everything of the upload. */
  remove(uploadId: string): Promise<void>
}

/** Files that are read at once, in about a millisecond. */
const smallBytes = 100_000
/** Bytes that are written at a time. */
const chunkBytes = 64 * 1024

export function createPassageFiles(bytes: ArtifactBytes): PassageFiles {
  return {
    save: (uploadId, passages) => bytes.put(locationOf(uploadId), toLines(passages)),
    async load(uploadId) {
      const file = await bytes.open(locationOf(uploadId))
      if (!file) return undefined
      if (file.size <= smallBytes) return linesOf(await text(file.read())).map((line) => JSON.parse(line) as Section)
      const passages: Section[] = []
      // Read line by line: a large document does not block the process.
      for await (const line of createInterface({ input: file.read(), crlfDelay: Infinity })) {
        if (line !== '') passages.push(JSON.parse(line) as Section)
      }
      return passages
    },
    remove: (uploadId) => bytes.deleteAll(uploadFolderOf(uploadId)),
  }
}

function linesOf(content: string): string[] {
  return content.split('\n').filter((line) => line !== '')
}

function locationOf(uploadId: string): ArtifactLocation {
  return { folder: uploadFolderOf(uploadId), id: 'passages' }
}

async function* toLines(passages: readonly Section[]): AsyncGenerator<Uint8Array, void> {
  let text = ''
  for (const passage of passages) {
    text += `${JSON.stringify(passage)}\n`
    if (text.length < chunkBytes) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

import { readDocument } from '../../files/document-text.ts'
import { createPatterns } from '../../files/patterns.ts'
import type { FilesRoot } from '../../files/root.ts'

/** Documents that are read to see whether one has text: the first ones tell what the others are like. */
const maxRead = 20

/** Why nothing can be found by `paths`, in words that go on after the field's name; undefined where there is a document with text. */
export async function findKnowledgeFault(paths: readonly string[], files: FilesRoot): Promise<string | undefined> {
  const names = await files.list(createPatterns(paths).globs)
  if (names.length === 0) return `no file under ${files.path} matches ${paths.join(', ')}`
  for (const name of names.slice(0, maxRead)) {
    const document = await readDocument(await files.resolve(name)).catch(() => undefined)
    if (document?.text) return undefined
  }
  return names.length > maxRead ? undefined : `none of the ${names.length} files that match ${paths.join(', ')} has text to be searched`
}

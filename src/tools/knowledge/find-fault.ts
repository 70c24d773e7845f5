import { readDocument } from '../../files/document-text.ts'
import { createPatterns } from '../../files/patterns.ts'
import type { FilesRoot } from '../../files/root.ts'

/** Documents read in search of text. The first documents are taken as representative. */
const maxRead = 20

/** The reason why a search in `paths` cannot find anything, as the rest of a sentence after the field's name. Undefined if a document has text. */
export async function findKnowledgeFault(paths: readonly string[], files: FilesRoot): Promise<string | undefined> {
  const names = await files.list(createPatterns(paths).globs)
  if (names.length === 0) return `no file under ${files.path} matches ${paths.join(', ')}`
  for (const name of names.slice(0, maxRead)) {
    const document = await readDocument(await files.resolve(name)).catch(() => undefined)
    if (document?.text) return undefined
  }
  return names.length > maxRead ? undefined : `none of the ${names.length} files that match ${paths.join(', ')} has text to be searched`
}

import { extractText, getDocumentProxy, getMeta } from 'unpdf'
import { toDocument, toMetadata, type Document } from './document.ts'

/** Reads the text of each page under the heading `Page 1`, ... A scanned page, which is an image, has no text. */
export async function readPdf(bytes: Uint8Array): Promise<Document> {
  // A copy, because pdf.js detaches the array passed in.
  const pdf = await getDocumentProxy(Uint8Array.from(bytes), { verbosity: 0 })
  try {
    const { totalPages, text } = await extractText(pdf)
    const { info } = await getMeta(pdf)
    const sections = text.map((page, index) => ({ heading: `Page ${index + 1}`, text: page.trim() }))
    return toDocument(sections, toMetadata({ title: info['Title'], author: info['Author'], pages: totalPages }))
  } finally {
    await pdf.loadingTask.destroy()
  }
}

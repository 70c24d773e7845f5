import { extractTextItems, getDocumentProxy, getMeta } from 'unpdf'
import { byLibrary, noTextInPdf, toDocument, toMetadata, type Document } from './document.ts'
import { splitByType, textOf, titlesByOutline } from './pdf-headings.ts'

/**
 * Reads the text of each page under the heading `Page 1`, or `Page 1, Title` where the outline or lines in larger type give titles. Throws for a PDF
 * without text.
 */
export async function readPdf(bytes: Uint8Array): Promise<Document> {
  const pdf = await byLibrary(() => open(bytes))
  try {
    const { totalPages, items: pages } = await byLibrary(() => extractTextItems(pdf))
    if (pages.every((items) => textOf(items).trim() === '')) throw new Error(`${noTextInPdf} (${totalPages} pages)`)
    const titles = await titlesByOutline(pdf).catch(() => undefined)
    const parts = titles ? pages.map((items, page) => [{ title: titles[page]!, text: textOf(items) }]) : splitByType(pages)
    const sections = parts.flatMap((ofPage, index) => {
      const page = index + 1
      // A page without text has its heading too.
      const present = ofPage.length > 0 ? ofPage : [{ title: '', text: '' }]
      return present.map(({ title, text }) => ({ heading: title ? `Page ${page}, ${title}` : `Page ${page}`, text: text.trim(), page }))
    })
    const { info } = await byLibrary(() => getMeta(pdf))
    return toDocument(sections, toMetadata({ title: info['Title'], author: info['Author'], pages: totalPages }))
  } finally {
    await pdf.loadingTask.destroy()
  }
}

/** A copy is opened, because pdf.js detaches the array passed in. */
function open(bytes: Uint8Array) {
  return getDocumentProxy(Uint8Array.from(bytes), { verbosity: 0 })
}

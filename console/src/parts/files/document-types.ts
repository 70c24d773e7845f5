/** Endings of documents that the agent reads. */
export const documentEndings = [
  ...['.md', '.txt', '.csv', '.tsv', '.json', '.yaml', '.yml', '.xml', '.log'],
  ...['.html', '.htm', '.pdf', '.docx', '.xlsx', '.pptx', '.epub', '.odt', '.eml'],
]

export const documentNames = 'text, Markdown, PDF, Word, Excel, PowerPoint, HTML, EPUB, OpenDocument and e-mail'

const maxBytes = 50 * 1024 * 1024

/** Why a file is no document that the agent reads, and where the file belongs; undefined for a document. */
export function documentFault({ name, type, size }: Pick<File, 'name' | 'type' | 'size'>): string | undefined {
  if (type.startsWith('image/')) return `${name} is a picture. Pictures go into the chat, with your question.`
  const isDocument = type.startsWith('text/') || documentEndings.some((ending) => name.toLowerCase().endsWith(ending))
  if (!isDocument) return `${name} is not a document that the agent reads: ${documentNames}. Unpack an archive first.`
  return size > maxBytes ? `${name} is larger than 50 MB. Divide the document.` : undefined
}

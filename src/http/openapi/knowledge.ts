import type { OperationTexts } from './operation-text.ts'

const unknownDocument = 'A document that does not exist, or belongs to another tenant, is 404.'

export const knowledgeTexts: OperationTexts = {
  getKnowledge: {
    description:
      'The documents of the tenant with their states, newest first. A document is `waiting` until a process reads it, `indexing` while it is read, then `ready`, or `failed` with the reason in `error`.',
  },
  postKnowledge: {
    description: `Adds a document as \`multipart/form-data\`: text, Markdown, HTML, PDF, DOCX, XLSX, PPTX, EPUB, ODT or EML. It is stored while it arrives, and indexed in the background; the answer has the state \`waiting\`. Every caller of the tenant finds it with \`knowledge_search\`, callers of other tenants never do.

A document may have \`limits.max_upload_bytes\`, the files of a tenant \`limits.max_tenant_upload_bytes\` together: more is 413. Documents are kept until they are deleted.

Documents may have the same name: all of them stay, are listed and are found. \`replace: true\` deletes the earlier ones of the name as soon as the new document is \`ready\`; if it cannot be read, they stay. Of documents with the same bytes, a search finds the newest.

400: the form is not complete. 422: a field is missing or unknown. 503: the store cannot be reached.`,
    requests: {
      'multipart/form-data': {
        text: { summary: 'A text', value: { file: 'Guests park behind the house.', name: 'parking.txt' } },
        replace: { summary: 'A new version', value: { file: 'Guests park on level 7.', name: 'parking.txt', replace: 'true' } },
      },
    },
  },
  getKnowledgeByDocumentId: { description: `A document with its state.\n\n${unknownDocument}` },
  deleteKnowledgeByDocumentId: {
    description: `Deletes a document with its bytes. No search that begins later finds it, whatever process searches.\n\n${unknownDocument}`,
  },
}

import type { OperationTexts } from './operation-text.ts'

const fileId = { file_id: 'file-0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11' }
const unknownFile = 'A file that does not exist, has expired or belongs to another caller is 404.'

export const fileTexts: OperationTexts = {
  postV1Files: {
    description: `Uploads a file as \`multipart/form-data\`, through the interface of OpenAI. The bytes go to the artifact store while they arrive. After an upload that breaks off nothing is left.

The \`id\` can be part of a message of \`POST /v1/chat/completions\` and \`POST /v1/responses\`: images for models that see, PDF, audio and video for models that take them, other documents as text. \`context_files\` of a chat may have the \`id\` too.

A file may have \`limits.max_upload_bytes\`, the files of a caller \`limits.max_owner_upload_bytes\` together, those of a tenant \`limits.max_tenant_upload_bytes\`: more is 413. A file is deleted after \`expires_after\` or \`retention.uploads\`, whichever comes first.

400: a field is missing, unknown or wrong, or the form is not complete. 503: the store cannot be reached.`,
    requests: {
      'multipart/form-data': {
        text: { summary: 'A text file', value: { file: 'The meeting is on Monday.', purpose: 'user_data' } },
        expiring: {
          summary: 'A file for an hour',
          value: {
            file: 'The meeting is on Monday.',
            purpose: 'user_data',
            'expires_after[anchor]': 'created_at',
            'expires_after[seconds]': 3600,
          },
        },
      },
    },
  },
  getV1Files: {
    description: 'The files that the caller has uploaded, newest first. Documents of `knowledge_search` are not among them.',
    parameters: { limit: 20, order: 'desc', after: fileId.file_id, purpose: 'user_data' },
  },
  getV1FilesByFileId: { description: `Name, size and expiry of a file.\n\n${unknownFile}`, parameters: fileId },
  getV1FilesByFileIdContent: {
    description: `The bytes as an attachment that browsers do not render.\n\n${unknownFile}`,
    parameters: fileId,
  },
  deleteV1FilesByFileId: {
    description: `Deletes the file with its bytes. Chats that were accepted before keep what they have read of the file.\n\n${unknownFile}`,
    parameters: fileId,
  },
}

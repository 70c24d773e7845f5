import { replies, route, namedObject } from '../schemas/shared.ts'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { accessTo } from '../../access/permissions.ts'
import { invalid } from '../../errors.ts'
import type { ContextFiles } from '../../files/context-files.ts'
import { toFileId } from '../../uploads/upload-store.ts'
import type { Uploads } from '../../uploads/uploads.ts'
import { principalOf } from '../server/authenticate.ts'
import { formOf, formRefusals, formRoute, type FormFields } from '../server/forms.ts'

/** A file that a chat may name in `context_files`. */
const ContextFile = namedObject('ContextFile', {
  path: Type.String({ description: 'The value for `context_files`: a path relative to `FILES_ROOT`, or the id of an uploaded file.' }),
  size: Type.Integer({ description: 'Bytes.' }),
  media_type: Type.String({ description: 'MIME type.' }),
})

const ContextFileList = namedObject('ContextFileList', {
  files: Type.Array(ContextFile),
  has_more: Type.Boolean({ description: 'True when more files may match: use a longer `q`.' }),
})

/** The form of a file that a caller uploads for a chat. */
const ContextFileForm = Type.Object({
  file: Type.Unsafe<unknown>({ type: 'string', format: 'binary', description: 'The file.' }),
})

const Query = Type.Object({
  q: Type.String({
    maxLength: 200,
    default: '',
    description: 'A part of the path, in any case. Without `q`, the first files are listed.',
  }),
})

const url = '/core/v1/context_files'

const tag = 'Chat'

/** The routes that find and upload files for `context_files` of a chat. */
export function contextFileRoutes(app: App, { contextFiles, uploads }: { contextFiles: ContextFiles; uploads: Uploads }): void {
  app.get(
    url,
    route(accessTo.chat, tag, {
      summary: 'Find files that a chat may name in `context_files`',
      description:
        'Finds at most 100 documents under `FILES_ROOT` whose path contains `q`, sorted by path: text, Markdown, HTML, PDF, DOCX, XLSX, PPTX, EPUB, ODT and EML up to ' +
        '50 MB. Hidden files are left out. A search stops after 2 seconds or 200,000 entries and then answers with the files so far.',
      text: 'Use a path of the list in `context_files` of a chat. Files that a data filter of the caller withholds are refused in the chat, not here.',
      parameters: { q: 'handbook/' },
      querystring: Query,
      response: replies({ 200: ContextFileList }, 422),
    }),
    async (request) => {
      const { q } = request.query
      const { files, hasMore } = await contextFiles.search(principalOf(request), q)
      return { files: files.map(({ path, size, mediaType }) => ({ path, size, media_type: mediaType })), has_more: hasMore }
    },
  )

  app.post(
    url,
    {
      ...route({ access: accessTo.chat, takesForm: true }, tag, {
        summary: 'Upload a file for `context_files` of a chat',
        text: `Stores a file of the caller, as \`POST /v1/files\` does, and answers with its id as \`path\`: use the \`path\` in \`context_files\` of a chat. Only its caller can use the file. A file is deleted after \`retention.uploads\`.

A file may have \`limits.max_upload_bytes\`, the files of a caller \`limits.max_owner_upload_bytes\` together, those of a tenant \`limits.max_tenant_upload_bytes\`: more is 413.`,
        examples: { text: { summary: 'A text', value: { file: 'The office closes at five.' } } },
        consumes: ['multipart/form-data'],
        body: ContextFileForm,
        response: { 201: ContextFile, ...formRefusals },
      }),
      ...formRoute,
    },
    async (request, reply) => {
      const upload = await formOf(request).receive(({ name, type, maxBytes, content }, fields) => {
        const describe = async () => ({ name, type, purpose: purposeFor(await fields()) })
        return uploads.add(principalOf(request), { isKnowledge: false, maxBytes, content, describe })
      })
      return reply.code(201).send({ path: toFileId(upload.id), size: upload.size, media_type: upload.type })
    },
  )
}

/** The form has no field beside the file: others are refused, since a misspelt one would be ignored. */
function purposeFor(fields: FormFields): string {
  for (const field of fields.keys()) throw invalid(['body', field], 'is not known')
  return 'user_data'
}

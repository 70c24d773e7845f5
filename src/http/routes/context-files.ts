import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../access/operations.ts'
import type { ContextFiles } from '../../files/context-files.ts'
import { principalOf } from '../authenticate.ts'
import { ContextFileList } from '../file-schemas.ts'
import { refusals, ValidationReply } from '../schemas.ts'

const Query = Type.Object({
  q: Type.String({
    maxLength: 200,
    default: '',
    description: 'A part of the path, in any case. Without `q`, the first files are listed.',
  }),
})

/** The route that finds files for `context_files` of a chat. */
export function contextFileRoutes(app: FastifyInstance, { contextFiles }: { contextFiles: ContextFiles }): void {
  app.get(
    '/core/v1/context_files',
    {
      config: { access: accessTo.chat },
      schema: {
        tags: ['Chat'],
        summary: 'Find files that a chat may name in `context_files`',
        description:
          'Finds at most 100 documents under `FILES_ROOT` whose path contains `q`, sorted by path: text, Markdown, HTML, PDF, DOCX, XLSX, PPTX, EPUB, ODT and EML up to ' +
          '50 MB. Hidden files are left out. A search stops after 2 seconds or 200,000 entries and then answers with the files so far.',
        querystring: Query,
        response: { 200: ContextFileList, 422: ValidationReply, ...refusals },
      },
    },
    async (request) => {
      const { q } = request.query as Type.Static<typeof Query>
      const { files, hasMore } = await contextFiles.search(principalOf(request), q)
      return { files: files.map(({ path, size, mediaType }) => ({ path, size, media_type: mediaType })), has_more: hasMore }
    },
  )
}

import { object, replies, route, Id, Offset, pageLimit, optionalText, toIso, pageFields } from '../schemas/shared.ts'
import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import type { App } from '../server/app.ts'
import { invalid } from '../../errors.ts'
import { parsePosition, toOffset } from '../../json/offset.ts'
import type { Knowledge, KnowledgeDocument } from '../../knowledge/knowledge.ts'
import { principalOf } from '../server/authenticate.ts'
import { formOf, formRefusals, formRoute } from '../server/forms.ts'

const unknownDocument = 'A document that does not exist, or belongs to another tenant, is 404.'

const path = '/core/v1/knowledge'

const ListedDocument = object('A document of the tenant for `knowledge_search`.', {
  id: Type.String(),
  name: Type.String(),
  size: Type.Integer({ description: 'Bytes.' }),
  media_type: Type.String(),
  state: Type.Enum(['waiting', 'indexing', 'ready', 'failed'], {
    description: '`ready`: found by `knowledge_search`. `failed`: cannot be read, for the reason in `error`.',
  }),
  error: optionalText('Why the document cannot be searched. Only in the state `failed`.'),
  passages: Type.Optional(
    Type.Integer({
      description: 'Number of passages that a search finds. In the state `ready`; absent for documents of earlier versions.',
    }),
  ),
  created_at: Type.String({ format: 'date-time' }),
})

const DocumentList = Type.Object({
  documents: Type.Array(ListedDocument),
  ...pageFields,
})

const DocumentForm = Type.Object({
  file: Type.Unsafe<unknown>({ type: 'string', format: 'binary', description: 'The document.' }),
  name: optionalText('The name of the document. Default: the file name of the part.'),
  replace: Type.Optional(
    Type.Enum(['true', 'false'], {
      description: '`true`: earlier documents of the same name are deleted as soon as this one is `ready`. Default: all stay.',
    }),
  ),
})

const Deleted = Type.Object({ id: Type.String(), status: Type.Enum(['deleted']) })
const params = Type.Object({ document_id: Id })
const Query = Type.Object({ limit: pageLimit, before: Offset })

const tag = 'Knowledge'

/** The documents of the caller's tenant, which `knowledge_search` finds. */
export const knowledgeRoutes = [listRoute, addRoute, readRoute, deleteRoute] as const

function listRoute(app: App, { knowledge }: { knowledge: Knowledge }): void {
  app.get(
    path,
    route('knowledge.read', tag, {
      summary: 'List documents, newest first',
      text: 'The documents of the tenant with their states, newest first. A document is `waiting` until a process reads it, `indexing` while it is read, then `ready`, or `failed` with the reason in `error`.',
      querystring: Query,
      response: replies({ 200: DocumentList }, 422),
    }),
    async (request) => {
      const { limit, before } = request.query
      const page = { limit, after: before === undefined ? undefined : toPosition(before) }
      const { documents, hasMore } = await knowledge.list(principalOf(request).tenant, page)
      const last = documents.at(-1)
      return { documents: documents.map(toListed), offset: last ? toOffset([last.id]) : '', has_more: hasMore }
    },
  )
}

function addRoute(app: App, { knowledge }: { knowledge: Knowledge }): void {
  app.post(
    path,
    {
      ...route({ access: 'knowledge.write', takesForm: true }, tag, {
        summary: 'Add a document',
        text: `Adds a document as \`multipart/form-data\`: text, Markdown, HTML, PDF, DOCX, XLSX, PPTX, EPUB, ODT or EML. It is stored while it arrives, and indexed in the background; the answer has the state \`waiting\`. Every caller of the tenant finds it with \`knowledge_search\`, callers of other tenants never do.

A document may have \`limits.max_upload_bytes\`, the files of a tenant \`limits.max_tenant_upload_bytes\` together: more is 413. Documents are kept until they are deleted.

Documents may have the same name: all of them stay, are listed and are found. \`replace: true\` deletes the earlier ones of the name as soon as the new document is \`ready\`; if it cannot be read, they stay. Of documents with the same bytes, a search finds the newest.

400: the form is not complete. 422: a field is missing or unknown. 503: the store cannot be reached.`,
        examples: {
          text: { summary: 'A text', value: { file: 'Guests park behind the house.', name: 'parking.txt' } },
          replace: { summary: 'A new version', value: { file: 'Guests park on level 7.', name: 'parking.txt', replace: 'true' } },
        },
        consumes: ['multipart/form-data'],
        body: DocumentForm,
        response: { 201: ListedDocument, ...formRefusals },
      }),
      ...formRoute,
    },
    async (request, reply) => {
      const document = await formOf(request).receive(({ name, type, maxBytes, content }, fields) => {
        const describe = async () => ({ name, type, ...readFields(await fields()) })
        return knowledge.add(principalOf(request), { maxBytes, content, describe })
      })
      return reply.code(201).send(toListed(document))
    },
  )
}

function readRoute(app: App, { knowledge }: { knowledge: Knowledge }): void {
  app.get(
    `${path}/:document_id`,
    route('knowledge.read', tag, {
      summary: 'Get a document with its state',
      text: `A document with its state.\n\n${unknownDocument}`,
      params,
      response: replies({ 200: ListedDocument }, 404, 422),
    }),
    async (request) => toListed(await knowledge.find(principalOf(request).tenant, idOf(request))),
  )
}

function deleteRoute(app: App, { knowledge }: { knowledge: Knowledge }): void {
  app.delete(
    `${path}/:document_id`,
    route('knowledge.write', tag, {
      summary: 'Delete a document',
      text: `Deletes a document with its bytes. No search that begins later finds it, whatever process searches.\n\n${unknownDocument}`,
      params,
      response: replies({ 200: Deleted }, 404),
    }),
    async (request) => {
      const id = idOf(request)
      await knowledge.remove(principalOf(request), id)
      return { id, status: 'deleted' as const }
    },
  )
}

/** The fields of the form beside the file. Others are refused, since a misspelt one would be ignored. */
function readFields(fields: ReadonlyMap<string, string>): { name?: string; replaces: boolean } {
  const unknown = [...fields.keys()].find((field) => field !== 'name' && field !== 'replace')
  if (unknown !== undefined) throw invalid(['body', unknown], 'is not known')
  const [name, replace = 'false'] = [fields.get('name'), fields.get('replace')]
  if (replace !== 'true' && replace !== 'false') throw invalid(['body', 'replace'], 'must be true or false')
  return { ...(name !== undefined && { name }), replaces: replace === 'true' }
}

function toListed({ id, name, size, type, state, error, passages, createdAt }: KnowledgeDocument): Static<typeof ListedDocument> {
  const fields = {
    id,
    name,
    size,
    media_type: type,
    state,
    ...(error !== undefined && { error }),
    ...(passages !== undefined && { passages }),
  }
  return { ...fields, created_at: toIso(createdAt) }
}

function idOf(request: FastifyRequest<{ Params: Static<typeof params> }>): string {
  return request.params.document_id
}

function toPosition(offset: string): string {
  const [id, ...more] = parsePosition(offset) ?? []
  if (typeof id !== 'string' || more.length > 0) throw invalid(['query', 'before'], 'must be the offset of a page')
  return id
}

import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type CompleteResult,
  type ListResourcesResult,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server'
import { buffer } from 'node:stream/consumers'
import { accessTo, permits, requireAccess } from '../../../access/operations.ts'
import type { Principal } from '../../../access/principal.ts'
import type { ArtifactPosition } from '../../../artifacts/artifact-store.ts'
import type { Artifacts, ListedArtifact } from '../../../artifacts/artifacts.ts'
import { ServiceError } from '../../../errors.ts'
import { parsePosition, toOffset } from '../../../json/offset.ts'
import { isId } from '../../server/request-headers.ts'
import { isDocumentUri, listDocuments, readDocument, type DocumentReader } from './document-resources.ts'
import { toResourceContents } from './results.ts'

/** The caller's files, and the tenant's documents, as MCP resources. A resource is named by its id, so that its address works as long as it exists. */

type ArtifactReader = Pick<Artifacts, 'list' | 'content'>

export interface ResourceServices {
  artifacts: ArtifactReader
  knowledge: DocumentReader
}

/** Place in the list: behind a file, or behind a document. */
type ListPosition = ArtifactPosition | { document: string }

/** Begins the position of a document, which no session id can be. */
const documentMark = 'document:'

const uriStart = 'agent-core://artifacts/'

export const artifactTemplate: ResourceTemplateType = {
  uriTemplate: `${uriStart}{artifact_id}`,
  name: 'artifact',
  title: 'File of the agent',
  description: 'A file that a tool of the agent made in a chat, by the `artifact_id` of `generated_artifacts`.',
}

const pageSize = 100

/** Largest file that is read through MCP. Larger files have links in the answers. */
const maxBytes = 8 * 1024 * 1024

/** A page of the caller's files, newest first, then of the tenant's documents; without those that the key may not read. */
export async function listResources(
  { artifacts, knowledge }: ResourceServices,
  principal: Principal,
  cursor: string | undefined,
): Promise<ListResourcesResult> {
  const position = cursor === undefined ? undefined : toPosition(cursor)
  const { files, next } = await listFiles(artifacts, principal, position)
  const resources = files.map(toResource)
  if (next) return { resources, nextCursor: toOffset(next) }
  const after = position && 'document' in position ? position.document : undefined
  const documents = await listDocuments(knowledge, principal, { limit: pageSize, after })
  const nextCursor = documents.next === undefined ? {} : { nextCursor: toOffset([documentMark, documents.next]) }
  return { resources: [...resources, ...documents.resources], ...nextCursor }
}

async function listFiles(artifacts: ArtifactReader, principal: Principal, position: ListPosition | undefined) {
  if (!permits(principal, accessTo.linkArtifact) || (position && 'document' in position)) return { files: [], next: undefined }
  const { artifacts: files, hasMore } = await artifacts.list(principal, { limit: pageSize, before: position })
  const last = files.at(-1)
  return { files, next: hasMore && last ? [last.id, last.sessionId] : undefined }
}

export async function readResource(
  { artifacts, knowledge }: ResourceServices,
  principal: Principal,
  uri: string,
): Promise<ReadResourceResult> {
  if (isDocumentUri(uri)) return readDocument(knowledge, principal, uri)
  requireAccess(principal, accessTo.linkArtifact)
  const id = uri.startsWith(uriStart) ? uri.slice(uriStart.length) : ''
  if (!isId(id)) throw new ResourceNotFoundError(uri)
  const { type, content } = await artifacts.content(principal, id).catch((error: unknown) => {
    throw error instanceof ServiceError && error.code === 'not_found' ? new ResourceNotFoundError(uri) : error
  })
  try {
    if (content.size > maxBytes) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `The file has more than ${maxBytes} bytes: read it at GET /core/v1/artifacts/${id}/content.`,
      )
    }
    return { contents: [toResourceContents(uri, type, await buffer(content.read()))] }
  } finally {
    await content.close()
  }
}

/** Ids of the caller's newest files that begin with `start`. */
export async function completeArtifactId(artifacts: ArtifactReader, principal: Principal, start: string): Promise<CompleteResult> {
  const { files } = await listFiles(artifacts, principal, undefined)
  const ids = files.map(({ id }) => id).filter((id) => id.startsWith(start))
  return { completion: { values: ids } }
}

function toResource({ id, name, type, size }: ListedArtifact): Resource {
  return { uri: `${uriStart}${id}`, name, mimeType: type, size }
}

function toPosition(cursor: string): ListPosition {
  const [id, sessionId, ...rest] = parsePosition(cursor) ?? []
  const isPosition = typeof id === 'string' && typeof sessionId === 'string' && rest.length === 0
  if (isPosition) return id === documentMark ? { document: sessionId } : { id, sessionId }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The cursor is not one of this list.')
}

import type { CallOptions, Query, Reply } from '../operation.ts'
import type { Transport } from '../transport.ts'
import { nextPage, readPages } from './pages.ts'

export type ArtifactPage = Reply<'GET', '/core/v1/artifacts'>
export type Artifact = ArtifactPage['artifacts'][number]
type ArtifactFilter = Query<'GET', '/core/v1/artifacts'>
export type ArtifactLink = Reply<'GET', '/core/v1/download_artifact/{message_index}/{artifact_index}'>['body']
export type SharedArtifact = Reply<'POST', '/core/v1/share_agent_artifact'>['body']

/** Place of a file in a session: the message, and the index in its `generated_artifacts`. */
export interface ArtifactPlace {
  sessionId: string
  messageIndex: number
  artifactIndex: number
}

/** Files that tools have created. */
export interface Artifacts {
  /** Lists a page of the caller's files, newest first. */
  list(filter?: ArtifactFilter, options?: CallOptions): Promise<ArtifactPage>
  /** Yields all files of the caller, page by page. */
  all(filter?: ArtifactFilter, options?: CallOptions): AsyncGenerator<Artifact, void>
  /** Returns the bytes of a file as an unread `Response`. */
  content(artifactId: string, options?: CallOptions): Promise<Response>
  /** Returns an address of the file that works for 15 minutes without a key. */
  link(place: ArtifactPlace, options?: CallOptions): Promise<ArtifactLink>
  /** Copies the file to the share folder of the service. */
  share(place: ArtifactPlace, options?: CallOptions): Promise<SharedArtifact>
}

export function createArtifacts(transport: Transport): Artifacts {
  const list: Artifacts['list'] = (query, options) => transport.request('GET', '/core/v1/artifacts', { ...options, query })

  return {
    list,

    all(filter, options) {
      const load = (before: string | undefined) => list({ ...filter, ...(before === undefined ? {} : { before }) }, options)
      return readPages(load, { elements: ({ artifacts }) => artifacts, next: nextPage })
    },

    content: (artifactId, options) =>
      transport.send('GET', '/core/v1/artifacts/{artifact_id}/content', { ...options, path: { artifact_id: artifactId } }),

    async link({ sessionId, messageIndex, artifactIndex }, { headers, signal } = {}) {
      const { body } = await transport.request('GET', '/core/v1/download_artifact/{message_index}/{artifact_index}', {
        path: { message_index: messageIndex, artifact_index: artifactIndex },
        headers: { ...headers, 'session-id': sessionId },
        signal,
      })
      return body
    },

    async share({ sessionId, messageIndex, artifactIndex }, { headers, signal } = {}) {
      const { body } = await transport.request('POST', '/core/v1/share_agent_artifact', {
        body: { message_index: messageIndex, artifact_index: artifactIndex },
        headers: { ...headers, 'session-id': sessionId },
        signal,
      })
      return body
    },
  }
}

import type { CallOptions, Reply } from '../operation.ts'
import type { Transport } from '../transport.ts'

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
  /** Returns an address of the file that works for 15 minutes without a key. */
  link(place: ArtifactPlace, options?: CallOptions): Promise<ArtifactLink>
  /** Copies the file to the share folder of the service. */
  share(place: ArtifactPlace, options?: CallOptions): Promise<SharedArtifact>
}

export function createArtifacts(transport: Transport): Artifacts {
  return {
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

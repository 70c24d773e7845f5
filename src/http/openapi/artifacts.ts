import type { OperationTexts } from './operation-text.ts'

const whereIndex =
  '`message_index` is the place of the answer in `messages` of the session, `artifact_index` the place of the file in `response_metadata.generated_artifacts` of that message. In a new session, the question `Write "Back at 3" to a file note.txt` makes message 1 with file 0; the reply has the header `session-id`.'

export const artifactTexts: OperationTexts = {
  getArtifacts: {
    description: 'Each file has a link that works without a key for 15 minutes.',
  },
  getDownloadArtifactByMessageIndexByArtifactIndex: {
    description: `A link for a browser or another program: it works without a key for 15 minutes, and then is 410.

${whereIndex} 404: there is no such session, message or file.`,
  },
  postShareAgentArtifact: {
    description: `Copies a file to \`ARTIFACT_SHARE_DIR\` of the service's machine, below a folder that is named after the request id, for programs that read this folder. The header \`session-id\` wins over \`session_id\`.

${whereIndex} 404: there is no such session, message or file.`,
    requests: {
      'application/json': { first: { summary: 'The first file of the first answer', value: { message_index: 1, artifact_index: 0 } } },
    },
  },
  getArtifactsByArtifactIdContent: {
    description:
      'Take an `artifact_id` from `GET /core/v1/artifacts`. A header `range` gets a part (206); a range outside of the file is 416.',
  },
  getArtifactsByFolderById: {
    description:
      'The address behind `download_url`. Take the whole link, since its query has the signature: a link without one is 403, an expired one 410. A header `range` gets a part (206). HEAD answers with the headers alone.',
    parameters: { name: 'note.txt', type: 'text/plain', expires: '1795340000', signature: '4Yb1l0Zr7mKq' },
  },
}

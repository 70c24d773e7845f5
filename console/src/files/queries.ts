import { client, type Reply } from '../api/client.ts'
import { usePages } from '../parts/pages/use-pages.ts'

export type Artifact = Reply<'GET', '/core/v1/artifacts'>['artifacts'][number]

/** The caller's artifacts, newest first. */
export function useArtifacts() {
  return usePages<Artifact>({
    queryKey: ['artifacts'],
    load: async (before, signal) => {
      const { artifacts, offset, has_more } = await client.request('GET', '/core/v1/artifacts', { query: { before }, signal })
      return { rows: artifacts, offset, has_more }
    },
    idOf: ({ artifact_id: id }) => id,
    isLive: true,
  })
}

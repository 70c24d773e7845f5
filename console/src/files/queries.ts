import { useMutation, useQueryClient } from '@tanstack/react-query'
import { client, type Reply } from '../api/client.ts'
import { usePages } from '../parts/pages/use-pages.ts'

export type Artifact = Reply<'GET', '/core/v1/artifacts'>['artifacts'][number]
export type Document = Reply<'GET', '/core/v1/knowledge'>['documents'][number]

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

const documentsKey = ['documents'] as const

/** The documents of the tenant, newest first. */
export function useDocuments() {
  return usePages<Document>({
    queryKey: documentsKey,
    load: async (before, signal) => {
      const { documents, offset, has_more } = await client.request('GET', '/core/v1/knowledge', { query: { before }, signal })
      return { rows: documents, offset, has_more }
    },
    idOf: ({ id }) => id,
    isLive: true,
  })
}

/** Adds documents in turn. A refused document does not stop the following documents. */
export function useAddDocuments() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async (files: readonly File[]) => {
      const results: PromiseSettledResult<Document>[] = []
      for (const file of files) results.push(...(await Promise.allSettled([addDocument(file)])))
      return results
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: documentsKey }),
  })
}

function addDocument(file: File): Promise<Document> {
  const body = new FormData()
  body.set('file', file)
  body.set('replace', 'true')
  return client.request('POST', '/core/v1/knowledge', { body })
}

/** Deletes a document. */
export function useDeleteDocument() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id }: Document) => client.request('DELETE', '/core/v1/knowledge/{document_id}', { path: { document_id: id } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: documentsKey }),
  })
}

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { client, type Reply } from '../api/client.ts'
import { statusOf } from '../api/errors.ts'
import type { Page } from '../parts/pages/page.ts'
import { usePages } from '../parts/pages/use-pages.ts'
import type { SchemaNode } from './schema/schema-node.ts'

export type Version = Reply<'GET', '/core/v1/agent/config/history'>['versions'][number]
export type Update = Reply<'PUT', '/core/v1/agent/config'>

/** The stored text of agent.yaml, and the version in use at the time of reading. */
export interface StoredText {
  text: string
  version: string
}

const path = '/core/v1/agent/config'
const yamlType = 'application/yaml'
const textKey = ['agent configuration'] as const
const historyKey = ['agent configuration history'] as const

/** The text in use. Refreshed every 10 seconds, so that a change by another caller shows before a conflict. */
export function useStoredText() {
  return useQuery({
    queryKey: textKey,
    queryFn: ({ signal }) => loadText(signal),
    refetchInterval: 10_000,
    refetchIntervalInBackground: false,
    structuralSharing: true,
  })
}

async function loadText(signal?: AbortSignal): Promise<StoredText> {
  const response = await client.send('GET', path, { headers: { accept: yamlType }, signal })
  const text = (await response.text()).replaceAll('\r\n', '\n')
  return { text, version: (response.headers.get('etag') ?? '').replaceAll('"', '') }
}

/** The JSON Schema of agent.yaml. It changes with the service only. */
export function useSchema() {
  return useQuery({
    queryKey: ['agent configuration schema'],
    queryFn: async ({ signal }) => (await client.request('GET', '/core/v1/agent/config/schema', { signal })) as SchemaNode,
    staleTime: Infinity,
  })
}

/** The request that checks or saves a text. `version` is the version that the text is based on: the service refuses any other version with 412. */
export interface TextChange {
  text: string
  version: string
  mode: 'check' | 'file' | 'memory'
  /** The reason to save the text although it has not passed the gate. */
  override?: string
}

/**
 * Checks or saves a text. `onStored` gets the text that is stored by now, before it is read again: the service masks its secrets. A
 * refusal with 412 reads the stored text again too.
 */
export function usePutText(onStored?: (stored: StoredText) => void) {
  const queryClient = useQueryClient()
  const refresh = useRefresh()
  return useMutation({
    mutationFn: async ({ text, version, mode, override }: TextChange) => {
      const query = { validate_only: mode === 'check', in_memory_only: mode === 'memory', override }
      const headers = { 'content-type': yamlType, 'if-match': `"${version}"` }
      const response = await client.send('PUT', path, { body: new Blob([text]), query, headers })
      return (await response.json()) as Update
    },
    onSuccess: ({ version = '' }, { text, mode }) => {
      if (mode !== 'file') return
      const stored = { text, version }
      queryClient.setQueryData(textKey, stored)
      onStored?.(stored)
    },
    onSettled: (_result, error, { mode }) => (mode !== 'check' || statusOf(error) === 412 ? refresh() : undefined),
  })
}

/** The recorded versions, newest first. */
export function useHistory() {
  return usePages<Version>({
    queryKey: historyKey,
    load: async (before, signal): Promise<Page<Version>> => {
      const { versions, offset, has_more } = await client.request('GET', '/core/v1/agent/config/history', { query: { before }, signal })
      return { rows: versions, offset: offset ?? '', has_more }
    },
    idOf: ({ version }) => version,
    isLive: true,
  })
}

/** The text of a recorded version. A version never changes. */
export function useVersionText(version: string | undefined) {
  return useQuery({
    queryKey: ['agent configuration version', version],
    queryFn: async ({ signal }) => {
      const path = { version: version ?? '' }
      const { text } = await client.request('GET', '/core/v1/agent/config/history/{version}', { path, signal })
      return text.replaceAll('\r\n', '\n')
    },
    enabled: version !== undefined,
    staleTime: Infinity,
  })
}

/** Checks whether a version can be restored, with the changes of the restoration. */
export function useRestoreCheck(version: string | undefined) {
  return useQuery({
    queryKey: ['agent configuration restore', version],
    queryFn: async ({ signal }) => {
      const body = { version: version ?? '', validate_only: true }
      return client.request('POST', '/core/v1/agent/config/restore', { body, signal })
    },
    enabled: version !== undefined,
    staleTime: 0,
    gcTime: 0,
    retry: false,
  })
}

/** Restores a version, unless another one than `current` is in use by now. */
export function useRestore() {
  const refresh = useRefresh()
  return useMutation({
    mutationFn: ({ version, current, override }: { version: string; current: string; override?: string }) => {
      const headers = { 'if-match': `"${current}"` }
      return client.request('POST', '/core/v1/agent/config/restore', { body: { version, override }, headers })
    },
    onSettled: refresh,
  })
}

/** Refreshes the queries that depend on the configuration: text, history, name of the agent, tools. */
function useRefresh(): () => Promise<void> {
  const queryClient = useQueryClient()
  return async () => {
    void queryClient.invalidateQueries({ queryKey: historyKey })
    void queryClient.invalidateQueries({ queryKey: ['metadata'] })
    void queryClient.invalidateQueries({ queryKey: ['tools'] })
    await queryClient.invalidateQueries({ queryKey: textKey })
  }
}

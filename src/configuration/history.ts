import { ServiceError } from '../errors.ts'
import { editYaml } from './change/edit-yaml.ts'
import type { RequestedChange } from './change/state.ts'
import { maskText } from './change/mask-text.ts'
import {
  withValidationErrors,
  type ConfigurationHistory,
  type ConfigurationUpdate,
  type HistoryPage,
  type VersionText,
} from './configuration.ts'
import type { ConfigurationStore, StoredConfiguration } from './configuration-store.ts'
import { parseSource } from './source.ts'

/** Reads one page of the recorded versions. */
export async function readHistory(store: ConfigurationStore, { limit, before }: HistoryPage): Promise<ConfigurationHistory> {
  const versions = await store.page(limit + 1, before)
  return { versions: versions.slice(0, limit), hasMore: versions.length > limit }
}

/** The change that an update asks for. For a restoration, the text of the recorded version; throws `not_found` for an unknown version. */
export async function toRequestedChange(change: ConfigurationUpdate['change'], store: ConfigurationStore): Promise<RequestedChange> {
  if (change.kind !== 'restore') return change
  return { kind: 'text', text: textOf(await find(change.version, store)) }
}

/** Reads a recorded version with its text, without secrets. Throws `not_found`, or `validation` if this release cannot use the text. */
export async function readVersion(store: ConfigurationStore, version: string): Promise<VersionText> {
  const former = await find(version, store)
  const text = await withValidationErrors(async () => maskText(parseSource(textOf(former))), ['path', 'version'])
  return { version, kind: former.kind, at: former.at, text }
}

async function find(version: string, store: ConfigurationStore): Promise<StoredConfiguration> {
  const former = await store.find(version)
  if (!former) throw new ServiceError('not_found', `There is no version ${JSON.stringify(version)} of the configuration.`)
  return former
}

/** A version that was in memory only has changes beside its text. */
function textOf({ text, used }: StoredConfiguration): string {
  return used ? editYaml(text, parseSource(text).data, used) : text
}

/** The place of the configuration in the request, for the faults of a change. */
export function placeOf({ kind }: ConfigurationUpdate['change']): readonly string[] {
  return kind === 'patch' ? ['body', 'configuration'] : ['body']
}

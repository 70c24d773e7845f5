import { randomUUIDv7 } from 'node:crypto'
import { InvalidArgumentError } from 'commander'
import type { ConfigurationSource } from '../configuration/change/change.ts'
import { overrideOrThrow, type GateOverride } from '../configuration/change/gate.ts'
import { changedPaths } from '../configuration/change/merge.ts'
import { isAudited, type ConfigurationStore } from '../configuration/configuration-store.ts'
import { restoreFileVersion } from '../configuration/file/file-history.ts'
import { contentOf } from '../configuration/file/file-record.ts'
import { restoreConfiguration } from '../configuration/shared/latest-configuration.ts'
import { changedSkills, withNewModules, type SkillPins } from '../configuration/skills/pins.ts'
import { openGate } from '../service/gate.ts'
import type { Settings } from '../settings/settings.ts'
import type { Database } from '../store/database.ts'
import { createConfigurationFile } from '../store/disk/configuration-file.ts'
import { publishOnce } from '../store/postgres/bus.ts'
import { commandActing } from './acting.ts'
import { CommandFailure } from './terminal.ts'
import { isPrepared, pinsHere, withConfigurations } from './used-configuration.ts'

/** The command "config restore". */

interface Restored {
  version: string
  diff: string[]
  override?: GateOverride
}

/** The value of `--override`. */
export function toReason(text: string): string {
  if (text.trim() === '' || text.length > 500) throw new InvalidArgumentError('The reason must have 1 to 500 characters.')
  return text
}

/** Restores a version. Undefined for an unknown version. Throws `gate_not_passed` without a reason to override the gate. */
export async function restore(version: string, reason: string | undefined, settings: Settings): Promise<Restored | undefined> {
  if (settings.databaseUrl === undefined) return restoreFile(version, reason, settings)
  const actor = await commandActing(settings)
  return withConfigurations(settings, async (store, database) => {
    const gate = openGate(database, { ...settings, now: Date.now })
    const options = { store, actor, gate, override: reason, newVersion: randomUUIDv7, now: Date.now }
    const restored = await restoreConfiguration(version, options)
    if (restored) await publishOnce(database, 'configuration', { version: restored.version })
    return restored
  })
}

async function restoreFile(version: string, reason: string | undefined, settings: Settings): Promise<Restored | undefined> {
  let overridden: { override?: GateOverride } = {}
  const file = createConfigurationFile(settings.agentConfig, settings.dataDir)
  const restored = await restoreFileVersion(version, file, async (former) => {
    if (!(await isPrepared(settings))) return
    overridden = await withConfigurations(settings, (store, database) => admit(former, reason, { store, database, settings }))
  })
  return restored && { ...restored, ...overridden }
}

interface Recorded {
  store: ConfigurationStore
  settings: Settings
}

/** Asks the gate of the recorded configuration. An override is recorded as a version, which the service takes over with the file. */
async function admit(
  former: ConfigurationSource,
  reason: string | undefined,
  { store, database, settings }: Recorded & { database: Database },
): Promise<{ override?: GateOverride }> {
  const newest = await store.newest()
  const running = newest && contentOf(newest)
  if (!newest || !running) return {}
  const gate = openGate(database, { ...settings, now: Date.now })
  const before = withNewModules(newest.skills, await pinsHere(settings, running.config))
  const pins = await pinsHere(settings, former.config)
  const next = { stored: former, used: former, pins }
  const overridden = overrideOrThrow(await gate({ stored: running, used: running, pins: before }, next), reason)
  if (overridden.override) {
    const diff = [...changedPaths(running.config, former.config), ...changedSkills(before, pins)]
    await record({ former, diff, pins, ...overridden }, newest.n, { store, settings })
  }
  return overridden
}

async function record(
  { former, diff, pins, ...overridden }: { former: ConfigurationSource; diff: string[]; pins: SkillPins; override?: GateOverride },
  after: number,
  { store, settings }: Recorded,
): Promise<void> {
  const version = randomUUIDv7()
  const actor = await commandActing(settings)
  const about = { version, storedVersion: version, kind: 'restore', text: former.text, skills: pins, at: Date.now(), diff } as const
  const by = { ...(actor && { actor }), isAudited: isAudited(former.config, diff), ...overridden }
  if (!(await store.add({ ...about, ...by }, after))) throw new CommandFailure(1, ['The configuration has changed meanwhile; try again.'])
}

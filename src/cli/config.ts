import path from 'node:path'
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { describeRefusal } from '../configuration/change/gate.ts'
import { listFileVersions } from '../configuration/file/file-history.ts'
import type { PastConfiguration } from '../configuration/configuration-store.ts'
import { redactConfig } from '../configuration/redact.ts'
import type { Settings } from '../settings/settings.ts'
import { createConfigurationFile } from '../store/disk/configuration-file.ts'
import { checkConfigFile } from './config-check.ts'
import { restore, toReason } from './config-restore.ts'
import { formatTable, print, CommandFailure, type CommandContext } from './terminal.ts'
import { loadUsedConfiguration, toFailure, withConfigurations } from './used-configuration.ts'
import { readSettings } from './prepare.ts'

/** Adds commands that check agent.yaml, show the configuration in use, and restore an earlier version. */
export function addConfig(program: Command, { terminal }: CommandContext): void {
  const config = program.command('config').description('Check and show the configuration of the agent.')

  config
    .command('check [file]')
    .description(
      'Check a file (default: AGENT_CONFIG), and that everything named in the file exists. Prints one line for each problem, and a warning for each setting that a model does not have.',
    )
    .action(async (file?: string) => {
      const settings = readSettings(terminal)
      const whole = file === undefined ? settings.agentConfig : path.resolve(terminal.cwd, file)
      for (const line of await checkConfigFile(whole, settings, terminal)) print(terminal, `warning: ${line}`)
      print(terminal, `ok: ${whole}`)
    })

  config
    .command('show')
    .description('Print the configuration in use with all defaults, secrets hidden, as YAML.')
    .action(async () => {
      const settings = readSettings(terminal)
      const used = await loadUsedConfiguration(settings).catch((error: unknown) => {
        throw toFailure(1, settings, error)
      })
      terminal.stdout.write(stringify(redactConfig(used.config), { lineWidth: 0 }))
    })

  config
    .command('history')
    .description('List the stored configurations; the first is in use.')
    .action(async () => {
      const past = await listPast(readSettings(terminal))
      const rows = past.map(({ version, at, kind, actor, diff }) => [
        version,
        at === undefined ? '-' : toTime(at),
        kind ?? '-',
        actor ? `${actor.sub} (${actor.tenant})` : '-',
        diff.join(' '),
      ])
      print(terminal, ...formatTable([['version', 'since', 'source', 'changed by', 'changes'], ...rows]))
    })

  config
    .command('restore <version>')
    .description('Restore an earlier configuration on all replicas; "config history" lists the versions.')
    .option('--override <reason>', 'Restore the configuration although it has not passed releases.gate; the reason is recorded.', toReason)
    .action(async (version: string, { override }: { override?: string }) => {
      const settings = readSettings(terminal)
      const restored = await restore(version, override, settings).catch((error: unknown) => {
        throw toFailure(1, settings, error)
      })
      if (!restored)
        throw new CommandFailure(1, [`There is no version ${JSON.stringify(version)}; "agent-core config history" lists the versions.`])
      print(terminal, `Version ${restored.version} is in use. Changed: ${restored.diff.join(' ') || 'nothing'}.`)
      if (restored.override) print(terminal, `warning: ${describeRefusal(restored.override.refusal, 'The version')}`)
    })
}

type PastVersion = Pick<PastConfiguration, 'version' | 'diff'> &
  Partial<Pick<PastConfiguration, 'kind' | 'actor'>> & { at: number | undefined }

/** The file is the configuration if there is no shared database. Copies of the file record neither the author nor the kind of a change. */
async function listPast(settings: Settings): Promise<PastVersion[]> {
  if (settings.databaseUrl !== undefined) return withConfigurations(settings, (store) => store.list())
  return listFileVersions(createConfigurationFile(settings.agentConfig, settings.dataDir))
}

function toTime(ms: number): string {
  return new Date(ms).toISOString()
}

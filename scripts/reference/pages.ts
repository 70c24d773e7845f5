import path from 'node:path'
import { agentYamlPage } from './agent-yaml.ts'
import { commandLinePage } from './command-line.ts'
import { environmentPage } from './environment.ts'
import { errorsPage } from './errors.ts'
import { httpPage } from './http.ts'
import { metricsPage } from './metrics.ts'
import { permissionsPage } from './permissions.ts'
import { streamEventsPage } from './stream-events.ts'

/** The folder of the pages. */
export const folder = path.join(import.meta.dirname, '../../docs/reference')

/** The generated pages by the name of their file. */
export const pages: Readonly<Record<string, () => string | Promise<string>>> = {
  'agent-yaml.md': agentYamlPage,
  'environment.md': environmentPage,
  'command-line.md': commandLinePage,
  'http.md': httpPage,
  'stream-events.md': streamEventsPage,
  'errors.md': errorsPage,
  'permissions.md': permissionsPage,
  'metrics.md': metricsPage,
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'

export interface SampleService {
  url: string
  stop(): Promise<void>
}

/** Starts the built service with the sample agent in `folder`, on a free port. Throws when the service ends before it listens. */
export async function startSample(root: string, folder: string): Promise<SampleService> {
  const service = spawn(process.execPath, [path.join(root, 'bin/agent-core.mjs'), 'serve', '--init'], {
    env: {
      ...process.env,
      DATA_DIR: path.join(folder, 'data'),
      AGENT_CONFIG: path.join(folder, 'agent.yaml'),
      FILES_ROOT: path.join(folder, 'files'),
      PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(service, 'exit')
  for await (const line of createInterface({ input: service.stdout })) {
    const url = /listens on (\S+)/.exec(line)?.[1]
    if (url === undefined) continue
    service.stdout.resume()
    return {
      url,
      stop: async () => {
        service.kill()
        await ended
      },
    }
  }
  throw new Error('The service ended before it listened.')
}

import cluster from 'node:cluster'
import http from 'node:http'
import { openConnections, type Connections } from '../src/cli/workers/connections.ts'
import { createProcesses, findSupervisor, type Supervisor } from '../src/cli/workers/processes.ts'
import { acceptGiven } from '../src/http/given-connections.ts'

/**
 * A program that ends its own workers while clients ask them, each time on a connection of its own. Says how many requests were answered,
 * and how many got neither an answer nor an error.
 */

const kills = 8
const clients = 16
const patienceMs = 20_000

function work(supervisor: Supervisor): void {
  const server = http.createServer((_request, response) => void setTimeout(() => response.end('done'), 5))
  const given = acceptGiven(server)
  supervisor.onMessage(({ kind }, connection) => {
    if (kind !== 'connection') return
    supervisor.tell({ kind: 'taken' })
    if (connection) given.take(connection)
  })
  supervisor.tell({ kind: 'ready', adminKeyFile: '', advice: [], example: '' })
}

function launch(connections: Connections, pids: number[]): void {
  const worker = createProcesses().start({
    heard(message) {
      if (message.kind === 'taken') return connections.taken(worker)
      connections.join(worker)
      pids.push(worker.pid!)
    },
    ended() {
      connections.lost(worker)
      launch(connections, pids)
    },
  })
}

function ask(port: number): Promise<'answered' | 'failed' | 'stuck'> {
  return new Promise((resolve) => {
    const request = http.get({ port, host: '127.0.0.1', agent: false }, (response) => {
      response.on('end', () => resolve('answered')).on('error', () => resolve('failed'))
      response.resume()
    })
    request.on('error', () => resolve('failed'))
    setTimeout(() => resolve('stuck'), patienceMs).unref()
  })
}

async function supervise(): Promise<void> {
  const connections = await openConnections({ host: '127.0.0.1', port: 0 })
  const pids: number[] = []
  for (let n = 0; n < 3; n++) launch(connections, pids)
  const counts = { answered: 0, failed: 0, stuck: 0 }
  let killed = 0
  async function client(): Promise<void> {
    while (killed < kills) counts[await ask(connections.port)]++
  }
  // When all have something to do, and another one is there.
  const killing = setInterval(() => {
    const pid = pids.length > 1 && counts.answered > killed * 100 ? pids.shift() : undefined
    if (pid === undefined) return
    killed++
    process.kill(pid, 'SIGKILL')
  }, 20)
  await Promise.all(Array.from({ length: clients }, client))
  clearInterval(killing)
  process.stdout.write(JSON.stringify(counts))
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL')
  process.exit(0)
}

const supervisor = findSupervisor()
if (supervisor) work(supervisor)
else await supervise()

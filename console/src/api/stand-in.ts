interface Options {
  path?: Record<string, string>
  query?: Record<string, string | number | boolean | undefined>
  body?: unknown
  signal?: AbortSignal
}
// eslint-disable-next-line typescript/no-explicit-any
type Answer = any

class RequestError extends Error {
  status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export function createClient({ baseUrl, fetch }: { baseUrl: string; fetch: typeof globalThis.fetch }) {
  return {
    async request(method: string, route: string, { path = {}, query = {}, body, signal }: Options = {}): Promise<Answer> {
      const filled = route.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''))
      const url = new URL(filled.slice(1), baseUrl)
      for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
      const init: RequestInit = { method, signal: signal ?? null }
      if (body !== undefined) Object.assign(init, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
      const response = await fetch(url, init)
      const answer = (await response.json()) as { body?: string }
      if (!response.ok) throw new RequestError(response.status, answer.body ?? `The service answered ${response.status}.`)
      return answer
    },
  }
}

import { Histogram, type Registry } from '@prometheus-io/client'

/** Records the duration of a request; `route` is the route's pattern, which keeps the number of series small. */
export type RequestMeter = (method: string, route: string, status: number, seconds: number) => void

const bucketSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export function createRequestMeter(registers: Registry[]): RequestMeter {
  const durations = new Histogram({
    name: 'agent_core_http_request_duration_seconds',
    help: 'HTTP requests until their answer is sent; of a stream, until its end.',
    labelNames: ['method', 'route', 'status'],
    buckets: bucketSeconds,
    registers,
  })
  return (method, route, status, seconds) => durations.observe({ method, route, status }, seconds)
}

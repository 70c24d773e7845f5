import { useParams } from 'wouter'

/** An id in the address. The router keeps some escaped characters, such as the colon of ids. */
export function usePathId(name: string): string | undefined {
  const value = useParams<Record<string, string | undefined>>()[name]
  try {
    return value === undefined ? undefined : decodeURIComponent(value)
  } catch {
    return value
  }
}

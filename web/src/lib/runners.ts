import { runners } from './transport'

// All that are registered, by name; they come and go by themselves.
export const runnersQuery = {
  queryKey: ['runners'],
  queryFn: async () => (await runners.listRunners({})).runners,
  refetchInterval: 10_000,
}

import { secrets } from './transport'

// One's own; null: there is none. Never its value.
export const setupTokenQuery = {
  queryKey: ['setup-token'],
  queryFn: async () => (await secrets.getSetupToken({})).setupToken ?? null,
}

// Where each credential may be: the table "Where each credential lives" of the spec, in places of
// this machine. What is found elsewhere is a leak. A place is
//
//   file:<path in the kndl's folder>     run:<path in /run/kndl-dev/<slot>>     database dump
//   nats:<request|answer|message> <Service.Method>, nats:subject, nats:header …
//   http:url, http:cookie of, http:head of, http:answer to <METHOD path>, http:frames
//   postgres:<sent|received>, shown:<kndl's verb>
//   process:<outside|inside> <cmdline|environ> <name>

// The same for several kinds. ------------------------------------------------------------------

// A Runner's own disk holds what a Session said before it was masked (adr/0009), and what Claude
// Code itself and its commands wrote: "What a script writes to disk stays there" (RD-07).
const SAID_ON_THE_RUNNER = [
  /^file:runner\/sessions\/[^/]+\/(spool-\d+|config|workspace|answers|prompt)(\/|$)/,
  /^file:runner\/sandboxes\/[^/]+\/layer\//,
];

// Its way from the Runner, or from who typed it, to redactor: the one place on the bus for it.
const SAID_ON_NATS = [
  /^nats:(request|message) RedactorRawService\.Put$/,
  /^nats:request RedactorInternalService\.Mask$/,
  /^nats:request SessionsService\.(SendPrompt|CreateSession|AnswerQuestion)$/,
  /^nats:request SessionsRunnerService\.ReportEnded$/,
];
const MASKS_ON_NATS = [/^nats:answer SecretsInternalService\.GetMaskSet$/];
const SAID = [...SAID_ON_THE_RUNNER, ...SAID_ON_NATS, ...MASKS_ON_NATS];

// Claude Code and what it started: its shells, their commands.
const CLAUDE = [/^process:inside environ claude\b/];

// The rows. ------------------------------------------------------------------------------------

export const TABLE = [
  {
    kind: 'setup token',
    row: 'A person’s Claude credential: encrypted on the Hub; the environment of the Claude Code process',
    places: [...SAID, ...CLAUDE,
      /^nats:request SecretsService\.SetSetupToken$/,
      /^nats:answer SecretsRunnerService\.FetchSetupToken$/],
  },
  {
    kind: 'Session token',
    row: 'Session tokens: the mod relay’s memory; in a Sandbox by design, in Claude Code’s own environment',
    places: [...SAID, ...CLAUDE, /^nats:request SecretsRunnerService\.PutSessionToken$/],
  },
  {
    kind: 'GitHub App\'s private key',
    row: 'The GitHub App’s private key and client secret: the Hub. Never in a Sandbox',
    places: [/^file:keys\/github-app\.pem$/, /^run:repo-access\/github-app\.pem$/],
  },
  {
    kind: 'GitHub App\'s client secret',
    row: 'The same. GitHub (its stand-in) knows it, too',
    places: [/^file:keys\/github-client-secret$/, /^run:repo-access\/github-client-secret$/,
      /^file:github\/state\.json$/],
  },
  {
    kind: 'HUB_SECRETS_KEY',
    row: 'HUB_SECRETS_KEY: the Hub',
    places: [/^file:keys\/secrets-key$/, /^run:secrets\/key$/],
  },
  {
    kind: 'Runner token',
    row: 'Runner tokens: the Runner, as RUNNER_TOKEN; the Hub keeps a hash. Shown to the Owner once',
    places: [/^file:keys\/runner-token$/, /^shown:kndl runners$/,
      /^(nats:answer RunnersService\.|http:answer to POST \/kndl\.sessions\.v1\.RunnersService\/)(RegisterRunner|RotateRunnerToken)$/],
  },
  {
    kind: 'mod token',
    row: 'Mod tokens: the Runner’s memory; the Hub keeps a hash. Never in a Sandbox',
    places: [/^nats:answer SessionsRunnerService\.IssueModToken$/, /^nats:(request|message) RedactorRawService\.Put$/],
  },
  {
    kind: 'sign-in cookie',
    row: 'Sign-in cookies: the browser; the Hub keeps a hash',
    places: [/^http:cookie of POST \/auth\/dev$/, /^http:cookie of GET \/auth\/github\/callback$/,
      /^nats:answer RepoAccessInternalService\.(DevLogin|CompleteSignIn)$/],
  },
  {
    kind: 'CLI token',
    row: 'CLI tokens: that machine’s cli.json, readable only by its user; the Hub keeps a hash',
    places: [/^file:cli\.json$/, /^http:answer to POST \/auth\/(dev|device\/token)$/,
      /^nats:answer RepoAccessInternalService\.(DevLogin|PollDevice)$/],
  },
  {
    kind: 'Invite',
    row: 'The Setup link and Invites: the link, with whoever it was given to; the Hub keeps a hash',
    places: [
      /^(nats:answer RepoAccessService\.|http:answer to POST \/kndl\.repo_access\.v1\.RepoAccessService\/)InviteMember$/,
      /^shown:kndl invite$/, /^http:cookie of POST \/auth\/github$/,
      /^nats:request RepoAccessInternalService\.CompleteSignIn$/],
  },
  {
    kind: 'Setup link',
    row: 'The same; its file until it was used (adr/0020)',
    places: [/^run:setup\/link$/, /^shown:up$/, /^http:cookie of POST \/auth\/github$/,
      /^nats:request RepoAccessInternalService\.CompleteSignIn$/],
  },
  {
    kind: 'way to GitHub and back',
    row: 'A browser’s own secret until GitHub sent it back (adr/0020)',
    places: [/^http:cookie of POST \/auth\/github$/, /^nats:answer RepoAccessInternalService\.BeginSignIn$/,
      /^nats:request RepoAccessInternalService\.CompleteSignIn$/],
  },
  {
    kind: 'kndl login that waits',
    row: 'As CLI tokens, until somebody decided (adr/0020), or was asked for a yes (adr/0024)',
    places: [/^http:answer to POST \/auth\/device$/, /^nats:answer RepoAccessInternalService\.BeginDevice$/,
      /^nats:request RepoAccessInternalService\.PollDevice$/,
      /^http:answer to POST \/kndl\.repo_access\.v1\.RepoAccessService\/BeginConfirmation$/,
      /^nats:answer RepoAccessService\.BeginConfirmation$/, /^nats:request RepoAccessService\.TakeConfirmation$/],
  },
  {
    kind: 'confirmation',
    row: 'In the memory of one command of the CLI; the Hub keeps a hash (adr/0024)',
    places: [/^http:answer to POST \/kndl\.repo_access\.v1\.RepoAccessService\/TakeConfirmation$/,
      /^nats:answer RepoAccessService\.TakeConfirmation$/],
  },
  {
    kind: 'git token',
    row: 'The Sandbox token, for git and gh: the Sandbox’s memory (ADR 0010)',
    places: [...SAID, /^nats:answer (RepoAccessInternalService|SessionsRunnerService)\.MintGitToken$/,
      /^nats:request SecretsInternalService\.PutMask$/],
  },
  {
    kind: 'clone token',
    row: 'A clone’s token: the Runner’s one git clone. Never in a Sandbox; masked like the Sandbox token',
    places: [/^nats:request SecretsInternalService\.PutMask$/, ...MASKS_ON_NATS,
      /^nats:answer (RepoAccessInternalService|SessionsRunnerService)\.MintGitToken$/],
  },
  {
    kind: 'Sensitive value',
    row: 'Environment Variables: encrypted on the Hub; in the Runner’s memory while needed; in every process’s environment in a Sandbox',
    places: [...SAID, /^process:inside environ /,
      /^nats:request SecretsService\.(SetVariables|SetSharedVariable)$/,
      /^nats:answer SecretsRunnerService\.FetchVariables$/],
  },
  {
    kind: 'PostgreSQL password',
    row: 'Not of the spec’s table: a service’s own pgpass; ./dev, as the superuser, sets them',
    places: [/^file:keys\/postgres-/, /^run:[a-z-]+\/pgpass$/, /^postgres:sent$/],
  },
  {
    kind: 'NATS seed',
    row: 'Not of the spec’s table: a service’s own credentials, kndl-init’s keys (deploy/kndl-init)',
    places: [/^file:nats\/(keys|creds)\//, /^run:[a-z-]+\/(nats\.creds|runner-signing\.seed)$/],
  },
];

// What no Session said (`isSaid` false) is not where Sessions speak either.
export function isAllowed(kind, place, { isSaid = true } = {}) {
  const row = TABLE.find((entry) => entry.kind === kind);
  if (!row) throw new Error(`the table knows no ${kind}`);
  const speech = isSaid ? [] : [...SAID_ON_THE_RUNNER, ...SAID_ON_NATS];
  return row.places.some((allowed) => allowed.test(place) && !speech.includes(allowed));
}

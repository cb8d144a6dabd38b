/**
 * Configurations that publish the pages of an account server, and nothing else of it.
 *
 * The paths are those of the table of pages, so that a new page is in every recipe.
 */
import { site } from '../../api/site/index.ts'
import type { Table } from '../../api/route.ts'

/** What a recipe needs: the public host name, and the address of the account server here. */
interface Place {
  readonly host: string
  readonly upstream: string
}

/**
 * Returns the paths of the pages without their variable parts. A path that ends with `/` stands for
 * all paths below it.
 */
function pagePaths(): string[] {
  const paths = Object.values(site as Table)
    .flatMap((group) => Object.values(group))
    .map(({ path }) => path.replace(/\{.*$/, ''))
  return [...new Set(paths)].toSorted()
}

/** Returns a regular expression (RE2 and PCRE) for the paths of the pages. */
const pagePattern = (): string =>
  `^/(${pagePaths()
    .map((path) => path.slice(1).replaceAll('.', String.raw`\.`))
    .map((path) => (path.endsWith('/') ? path : `${path}$`))
    .join('|')})`

const RECIPES: Readonly<Record<string, (place: Place) => string>> = {
  caddy: ({ host, upstream }) => `${host} {
    @pages path ${pagePaths()
      .map((path) => (path !== '/' && path.endsWith('/') ? `${path}*` : path))
      .join(' ')}
    handle @pages {
        reverse_proxy ${upstream.replace('http://', '')}
    }
    handle {
        respond 404
    }
}`,
  nginx: ({ host, upstream }) => `server {
    listen 443 ssl;
    server_name ${host};
    ssl_certificate     /etc/ssl/${host}.pem;
    ssl_certificate_key /etc/ssl/${host}.key;
    location ~ "${pagePattern()}" {
        proxy_pass ${upstream};
        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
    }
    location / {
        return 404;
    }
}`,
  cloudflared: ({ host, upstream }) => `tunnel: NAME-OF-YOUR-TUNNEL
credentials-file: /etc/cloudflared/NAME-OF-YOUR-TUNNEL.json
ingress:
  - hostname: ${host}
    path: '${pagePattern()}'
    service: ${upstream}
  - service: http_status:404`,
  // A path stands for all paths below it, so the start page `/` would publish everything.
  tailscale: ({ upstream }) =>
    pagePaths()
      .filter((path) => path !== '/' && path !== site.siteHealth.ready.path)
      .map((path) => path.replace(/\/$/, ''))
      .map((path) => `tailscale funnel --bg --set-path=${path} ${upstream}${path}`)
      .join('\n'),
}

/** What users can put in front of the account server. */
export const PROXIES: readonly string[] = Object.keys(RECIPES)

/** Returns the configuration of a proxy; undefined if it is none of `PROXIES`. */
export const recipeFor = (proxy: string, place: Place): string | undefined =>
  Object.hasOwn(RECIPES, proxy) ? RECIPES[proxy]!(place) : undefined

export default {
  call: 'Im Gespräch',
  people: 'Personen',
  needs: 'Für Sie',
  devices: 'Geräte',
  stamps: 'Stempel',
  log: 'Protokoll',
  tokens: 'Token und Programme',
  organisation: 'Organisation',
  health: 'Zustand',
  settings: 'Einstellungen',
  pages: 'Seiten',
  skip: 'Zur Seite',
  menu: 'Menü',
  lock: 'Sperren',
  full: 'Volle Rechte bis {time}',
  loading: 'Wird geladen …',
  notFound: 'Diese Seite gibt es nicht',
  notFoundLead: 'Die Adresse gehört vielleicht zu einer anderen Version.',
  pageFailed: 'Diese Seite konnte nicht geladen werden. Laden Sie sie neu.',
  daemonAway: 'Der Daemon antwortet nicht. Sie sehen den Stand von {time}.',
  serverAway:
    'Der Kontoserver antwortet seit {time} nicht. Wörter, Prüfungen und Stempel funktionieren; Änderungen schlagen fehl, bis er antwortet.',
  absent: 'Um Ihr Konto hier zu sehen, führen Sie diesen Befehl in einem Terminal aus:',
  refused:
    'Der Code im Link wurde benutzt oder ist abgelaufen. Führen Sie diesen Befehl erneut aus:',
  unsupported:
    'Dieser Browser ist zu alt: Er kann keinen Ed25519-Schlüssel erzeugen. Aktualisieren Sie ihn oder nehmen Sie einen anderen, und führen Sie dann diesen Befehl erneut aus:',
  away: 'Der Daemon hat nicht geantwortet. Starten Sie ihn mit {start} und führen Sie dann diesen Befehl aus:',
  idle: 'Gesperrt, weil es 30 Minuten keine Eingabe gab. Zum Fortfahren führen Sie diesen Befehl aus:',
  ended:
    'Die Sitzung ist beendet: Sie ist abgelaufen oder wurde widerrufen. Zum Fortfahren führen Sie diesen Befehl aus:',
  docs: 'Dokumentation der API',
} as const

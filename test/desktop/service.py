"""A service of desktop notifications: prints each call of Notify as one line of JSON."""

import json
import sys

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"


def say(line):
    print(json.dumps(line), flush=True)


class Service(dbus.service.Object):
    """Shows nothing. Ids count from 1. The mode "silent" never answers a call of Notify."""

    def __init__(self, bus, mode, capabilities):
        super().__init__(bus, PATH)
        self.mode = mode
        self.capabilities = capabilities
        self.last = 0

    @dbus.service.method(NAME, in_signature="", out_signature="as")
    def GetCapabilities(self):
        return dbus.Array(self.capabilities, signature="s")

    @dbus.service.method(NAME, in_signature="", out_signature="ssss")
    def GetServerInformation(self):
        return ("Test desktop", "nobody", "4.2", "1.2")

    @dbus.service.method(
        NAME, in_signature="susssasa{sv}i", out_signature="u", async_callbacks=("reply", "fail")
    )
    def Notify(self, app, replaces, icon, summary, body, actions, hints, timeout, reply, fail):
        self.last += 1
        say(
            {
                "app": app,
                "replaces": replaces,
                "summary": summary,
                "body": body,
                "rest": [icon, actions, hints, timeout],
                "id": replaces or self.last,
            }
        )
        if self.mode == "refuse":
            fail(dbus.DBusException("no room", name="org.example.Full"))
        elif self.mode != "silent":
            reply(replaces or self.last)


DBusGMainLoop(set_as_default=True)
session = dbus.SessionBus()
name = dbus.service.BusName(NAME, session, do_not_queue=True)
Service(session, sys.argv[1], sys.argv[2:])
say("ready")
GLib.MainLoop().run()
